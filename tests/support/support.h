/// support.h: cmocka with what it needs, and checks of a status.
#ifndef CUBEBACK_TEST_SUPPORT_H
#define CUBEBACK_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cubeback/cubeback.h>

/// Fails with the library's message unless the call returns CBK_OK.
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        cbk_status status_ = (call);                                                               \
        if (status_ != CBK_OK) {                                                                   \
            print_error("%s: %s: %s\n", #call, cbk_status_string(status_),                         \
                        cbk_last_error_message());                                                 \
            fail();                                                                                \
        }                                                                                          \
    } while (0)

/// Fails unless the call returns this status and left a message.
#define assert_status(expected, call)                                                              \
    do {                                                                                           \
        cbk_status status_ = (call);                                                               \
        if (status_ != (expected)) {                                                               \
            print_error("%s: %s instead of %s: %s\n", #call, cbk_status_string(status_),           \
                        cbk_status_string(expected), cbk_last_error_message());                    \
            fail();                                                                                \
        }                                                                                          \
        if ((expected) != CBK_OK) assert_true(cbk_last_error_message()[0] != 0);                   \
    } while (0)

#endif
