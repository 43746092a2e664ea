#include "learn/metrics/answers.h"

#include <algorithm>
#include <map>

#include "base/unicode/unicode.h"
#include "learn/metrics/characters.h"

namespace hone {
namespace {

bool is_article(std::string_view word) { return word == "a" || word == "an" || word == "the"; }

// Articles between characters that are not of words become a space.
std::string without_articles(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const char* last = text.data() + text.size();
    while (end < text.size()) {
      const Char c = decode_char(text.data() + end, last);
      if (!is_word_char(c.code)) break;
      end += static_cast<size_t>(c.length);
    }
    if (end == at) {
      const auto length = static_cast<size_t>(decode_char(text.data() + at, last).length);
      out.append(text, at, length);
      at += length;
      continue;
    }
    const std::string_view word = std::string_view(text).substr(at, end - at);
    out += is_article(word) ? std::string_view(" ") : word;
    at = end;
  }
  return out;
}

double f1_of_words(const std::string& prediction, const std::string& reference, bool may_be_empty) {
  std::vector<std::string_view> predicted, wanted;
  split_words(prediction, predicted);
  split_words(reference, wanted);
  if (may_be_empty && (predicted.empty() || wanted.empty())) return predicted == wanted ? 1 : 0;
  std::map<std::string_view, int64_t> counts;
  for (const std::string_view word : wanted) ++counts[word];
  int64_t same = 0;
  for (const std::string_view word : predicted) same += counts[word]-- > 0 ? 1 : 0;
  if (same == 0) return 0;
  const double precision = static_cast<double>(same) / static_cast<double>(predicted.size()),
               recall = static_cast<double>(same) / static_cast<double>(wanted.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string normal_answer(std::string_view text) {
  std::string lower, bare;
  append_lowercase(text, lower);
  for (const char c : lower) {
    const auto code = static_cast<unsigned char>(c);
    const bool sign = code > 32 && code < 127 && !(code >= '0' && code <= '9') &&
                      !(code >= 'a' && code <= 'z') && !(code >= 'A' && code <= 'Z');
    if (!sign) bare += c;
  }
  const std::string rest = without_articles(bare);
  std::vector<std::string_view> words;
  split_words(rest, words);
  std::string out;
  for (const std::string_view word : words) {
    if (!out.empty()) out += ' ';
    out += word;
  }
  return out;
}

AnswerScore score_answer(std::string_view prediction, const std::vector<std::string>& references,
                         bool may_be_empty) {
  const std::string predicted = normal_answer(prediction);
  std::vector<std::string> wanted;
  for (const std::string& reference : references)
    if (std::string normal = normal_answer(reference); !may_be_empty || !normal.empty())
      wanted.push_back(std::move(normal));
  if (wanted.empty() && may_be_empty) wanted.emplace_back();
  AnswerScore best;
  for (const std::string& reference : wanted) {
    best.exact = std::max(best.exact, predicted == reference ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, f1_of_words(predicted, reference, may_be_empty));
  }
  return best;
}

}  // namespace hone
