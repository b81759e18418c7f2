# Counts the tests of ctest's LastTest.log: each row of a cmocka program is one test, any other
# program is one; a program that died without its summary is one that failed.
function finish_program() {
    if (!inside) return
    if (died && !rows_failed) rows_failed = 1
    if (!died && !rows_passed && !skipped) rows_passed = 1
    passed += rows_passed
    failed += rows_failed
    if (skipped) skips++
    inside = 0
}
/^[0-9]+\/[0-9]+ Testing: / {
    finish_program()
    inside = 1
    rows_passed = rows_failed = died = skipped = 0
}
/^\[  PASSED  \] [0-9]+ test\(s\)/ { rows_passed += $4 }
/^\[  FAILED  \] [0-9]+ test\(s\)/ { rows_failed += $4 }
/^\[  SKIPPED \] [0-9]+ test\(s\)/ { rows_skipped += $4 }
/^Test Failed\.|^Test timeout|^Test time out/ { died = 1 }
/^Test Not Run|^Test Skipped/ { skipped = 1 }
END {
    finish_program()
    if (skips + rows_skipped) printf "%d skipped\n", skips + rows_skipped
    printf "%d passed, %d failed\n", passed, failed
}
