// NCCL_TESTS_SPLIT and NCCL_TESTS_SPLIT_MASK: several communicators side by side in one run.
#pragma once

#include <string_view>

namespace gyre::bench {

// The colour of `process`: processes of one colour form one communicator. `mask` (hexadecimal)
// goes before `rule`: AND or &, OR or |, MOD or %, DIV or /, and a number that is decimal, 0x or 0b
// ("AND 0x3", "%2"). Empty texts are absent. Throws Failure if the text is not such a rule.
int split_colour(int process, std::string_view mask, std::string_view rule);

}  // namespace gyre::bench
