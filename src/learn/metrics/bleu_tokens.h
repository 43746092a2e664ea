// Tokenizers of sacreBLEU 2.6: they prepare a line before its words are counted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

// 13a: mteval-v13a, the default. intl: mteval-v14, splits at Unicode's punctuation and symbols.
// zh: Chinese characters are tokens, the rest as 13a. char: every character. none: white space.
enum class BleuTokenizer { k13a, kIntl, kZh, kChar, kNone };

// Names as sacreBLEU's --tokenize and signature have them.
std::vector<std::string> bleu_tokenizer_names();
const char* name_of(BleuTokenizer t);

// The line with white space between its tokens (more than one character of it, perhaps).
std::string bleu_tokenized(std::string_view line, BleuTokenizer t);

}  // namespace hone
