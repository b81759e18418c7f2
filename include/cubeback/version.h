/// cubeback/version.h: the version of these headers.
#ifndef CUBEBACK_VERSION_H
#define CUBEBACK_VERSION_H

#define CBK_VERSION_MAJOR 0
#define CBK_VERSION_MINOR 1
#define CBK_VERSION_PATCH 0
#define CBK_VERSION (CBK_VERSION_MAJOR * 10000 + CBK_VERSION_MINOR * 100 + CBK_VERSION_PATCH)
#define CBK_VERSION_STRING "0.1.0"

#endif
