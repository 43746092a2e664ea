// The tokenizers of sacreBLEU 2.6. They split a line into the tokens that BLEU counts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// k13a: the rules of mteval-v13a, sacreBLEU's default. kIntl: those of mteval-v14, which split at Unicode punctuation
// and symbols. kZh: each Chinese character is a token, other text as k13a. kChar: each character is a token. kNone:
// the tokens are the pieces between white space.
enum class BleuTokenizer { k13a, kIntl, kZh, kChar, kNone };

// The names in sacreBLEU's --tokenize and signature: "13a", "intl", "zh", "char", "none".
std::vector<std::string> bleu_tokenizer_names();
const char* name_of(BleuTokenizer t);

// The line with white space between its tokens; two tokens may be separated by several characters of white space.
std::string bleu_tokenized(std::string_view line, BleuTokenizer t);

}  // namespace hone
