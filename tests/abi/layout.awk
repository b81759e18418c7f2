# Reads public headers and writes a C program that prints the layout of every public struct:
#   cbk_op 64                 the struct and its size
#   cbk_op.opcode 4 4         a member, its offset and size
# Understands what the headers use: flat members, arrays, several names in one declaration,
# pointers to functions, named unions.
{
    sub(/\/\/.*/, "")
    text = text " " $0
}

function emit(struct, member) {
    printf "    printf(\"%s.%s %%zu %%zu\\n\", offsetof(%s, %s), sizeof ((%s *)0)->%s);\n",
        struct, member, struct, member, struct, member
}

function emit_declaration(struct, declaration, parts, count, i, name) {
    gsub(/\[[^]]*\]/, "", declaration)
    if (match(declaration, /\(\*[a-z0-9_]+\)/)) {
        emit(struct, substr(declaration, RSTART + 2, RLENGTH - 3))
        return
    }
    count = split(declaration, parts, ",")
    for (i = 1; i <= count; i++) {
        name = parts[i]
        gsub(/[ \t]+$/, "", name)
        sub(/^.*[^a-zA-Z0-9_]/, "", name)
        if (name != "") emit(struct, name)
    }
}

END {
    print "#include <stdio.h>"
    for (i = 1; i < ARGC; i++) {
        header = ARGV[i]
        sub(/^.*\/cubeback\//, "", header)
        printf "#include <cubeback/%s>\n", header
    }
    print "int main(void) {"
    while (match(text, /typedef struct cbk_[a-z0-9_]+ \{/)) {
        struct = substr(text, RSTART + 15, RLENGTH - 17)
        text = substr(text, RSTART + RLENGTH)
        end = index(text, "} " struct ";")
        body = substr(text, 1, end - 1)
        text = substr(text, end)
        gsub(/(union|struct) \{[^}]*\}/, "union", body)
        printf "    printf(\"%s %%zu\\n\", sizeof(%s));\n", struct, struct
        count = split(body, members, ";")
        for (m = 1; m <= count; m++)
            if (members[m] ~ /[a-z]/) emit_declaration(struct, members[m])
    }
    print "    return 0;\n}"
}
