#include "learn/metrics/rouge_score.h"

#include <algorithm>
#include <bit>

#include "learn/metrics/porter.h"

namespace hone {
namespace {

constexpr size_t kBits = 64;

// Character of a word (lowercased) or 0. Two characters beyond ASCII have one of it as lower case:
// the Kelvin sign and the capital I with dot.
char word_char(std::string_view text, size_t& i) {
  const char c = text[i++];
  if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) return c;
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c + ('a' - 'A'));
  if (text.substr(i - 1, 3) == "\xE2\x84\xAA") {
    i += 2;
    return 'k';
  }
  return 0;
}

RougeValue value_of(int64_t hits, int64_t predicted, int64_t expected) {
  RougeValue v;
  v.precision = static_cast<double>(hits) / static_cast<double>(std::max<int64_t>(predicted, 1));
  v.recall = static_cast<double>(hits) / static_cast<double>(std::max<int64_t>(expected, 1));
  if (v.precision + v.recall > 0)
    v.fmeasure = 2 * v.precision * v.recall / (v.precision + v.recall);
  return v;
}

}  // namespace

int32_t RougeScorer::stem_id(std::string_view word) {
  const int32_t id = words_.number(word);
  if (static_cast<size_t>(id) == stem_of_word_.size()) {
    word_ = word;
    if (use_stemmer_ && word.size() > 3) porter_stem(word_);
    stem_of_word_.push_back(stems_.number(word_));
  }
  return stem_of_word_[static_cast<size_t>(id)];
}

void RougeScorer::read(std::string_view text, Words& words) {
  words.ids.clear();
  words.ends.clear();
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.ids.push_back(stem_id(word));
    word.clear();
  };
  for (size_t i = 0; i < text.size();) {
    const size_t at = i;
    if (const char c = word_char(text, i)) {
      word += c;
    } else if (text.substr(at, 2) == "\xC4\xB0") {  // its lower case is i and a combining dot
      word += 'i';
      finish();
    } else {
      finish();
      if (text[at] == '\n') words.ends.push_back(words.ids.size());
    }
  }
  finish();
  words.ends.push_back(words.ids.size());
}

// Bit j of row slot_[w] - 1 of masks_ says that words[j] is w. Returns the words of 64 bits a row.
size_t RougeScorer::place(std::span<const int32_t> words) {
  const size_t width = (words.size() + kBits - 1) / kBits;
  masks_.clear();
  int32_t slots = 0;
  for (size_t j = 0; j < words.size(); ++j) {
    int32_t& slot = slot_[static_cast<size_t>(words[j])];
    if (slot == 0) {
      slot = ++slots;
      masks_.resize(masks_.size() + width);
    }
    masks_[static_cast<size_t>(slot - 1) * width + j / kBits] |= uint64_t{1} << (j % kBits);
  }
  return width;
}

void RougeScorer::forget_places(std::span<const int32_t> words) {
  for (const int32_t w : words) slot_[static_cast<size_t>(w)] = 0;
}

namespace {

// One row of the table of longest common subsequences, 64 columns at a time: a zero bit says that
// the length grows there (Hyyro, "Bit-parallel LCS-length computation revisited", AWOCA 2004).
void next_row(const uint64_t* row, const uint64_t* mask, size_t width, uint64_t* next) {
  uint64_t carry = 0;
  for (size_t k = 0; k < width; ++k) {
    const uint64_t v = row[k], u = v & mask[k];
    uint64_t sum = v + u;
    const uint64_t over = sum < v;
    sum += carry;
    carry = over | (sum < carry);
    next[k] = sum | (v & ~mask[k]);
  }
}

bool grows(const uint64_t* row, size_t column) {  // column from 1
  return ((row[(column - 1) / kBits] >> ((column - 1) % kBits)) & 1) == 0;
}

// Length of the subsequence at `columns`.
int64_t length_at(const uint64_t* row, size_t columns) {
  int64_t n = 0;
  for (size_t k = 0; k * kBits < columns; ++k) {
    uint64_t zeros = ~row[k];
    if (columns - k * kBits < kBits) zeros &= (uint64_t{1} << (columns - k * kBits)) - 1;
    n += std::popcount(zeros);
  }
  return n;
}

}  // namespace

int64_t RougeScorer::common_subsequence(std::span<const int32_t> a, std::span<const int32_t> b) {
  if (a.empty() || b.empty()) return 0;
  const size_t width = place(b);
  rows_.assign(width, ~uint64_t{0});
  for (const int32_t w : a) {
    if (const int32_t slot = slot_[static_cast<size_t>(w)])
      next_row(rows_.data(), &masks_[static_cast<size_t>(slot - 1) * width], width, rows_.data());
  }
  forget_places(b);
  return length_at(rows_.data(), b.size());
}

// Marks the words of `reference` in the longest common subsequence that rouge-score's way back
// through the table meets: where words differ, to the left if that is longer than above, else up.
void RougeScorer::mark_common(std::span<const int32_t> reference,
                              std::span<const int32_t> candidate) {
  if (reference.empty() || candidate.empty()) return;
  const size_t width = place(candidate);
  rows_.resize((reference.size() + 1) * width);
  std::fill_n(rows_.begin(), width, ~uint64_t{0});
  for (size_t i = 0; i < reference.size(); ++i) {
    const uint64_t* row = &rows_[i * width];
    uint64_t* next = &rows_[(i + 1) * width];
    if (const int32_t slot = slot_[static_cast<size_t>(reference[i])])
      next_row(row, &masks_[static_cast<size_t>(slot - 1) * width], width, next);
    else
      std::copy_n(row, width, next);
  }
  forget_places(candidate);

  const auto row = [&](size_t i) { return &rows_[i * width]; };
  size_t i = reference.size(), j = candidate.size();
  int64_t here = length_at(row(i), j), above = length_at(row(i - 1), j);
  while (i > 0 && j > 0 && here > 0) {
    if (reference[i - 1] == candidate[j - 1]) {
      marked_[i - 1] = 1;
      here = above - grows(row(i - 1), j);
      --i, --j;
      above = i > 0 ? length_at(row(i - 1), j) : 0;
    } else if (here > above) {  // then the length comes from the left
      here -= grows(row(i), j);
      above -= grows(row(i - 1), j);
      --j;
    } else {
      here = above;
      --i;
      above = i > 0 ? length_at(row(i - 1), j) : 0;
    }
  }
}

int64_t RougeScorer::union_of_sentences() {
  for (const int32_t w : reference_.ids) ++count_[static_cast<size_t>(w)];
  for (const int32_t w : prediction_.ids) ++other_count_[static_cast<size_t>(w)];
  int64_t hits = 0;
  size_t begin = 0;
  for (const size_t end : reference_.ends) {
    const auto sentence = std::span(reference_.ids).subspan(begin, end - begin);
    begin = end;
    marked_.assign(sentence.size(), 0);
    size_t from = 0;
    for (const size_t to : prediction_.ends) {
      mark_common(sentence, std::span(prediction_.ids).subspan(from, to - from));
      from = to;
    }
    for (size_t i = 0; i < sentence.size(); ++i) {
      const auto w = static_cast<size_t>(sentence[i]);
      if (!marked_[i] || count_[w] == 0 || other_count_[w] == 0) continue;
      ++hits;
      --count_[w];
      --other_count_[w];
    }
  }
  for (const int32_t w : reference_.ids) count_[static_cast<size_t>(w)] = 0;
  for (const int32_t w : prediction_.ids) other_count_[static_cast<size_t>(w)] = 0;
  return hits;
}

int64_t RougeScorer::common_pairs() {
  const auto fill = [](const Words& words, std::vector<uint64_t>& pairs) {
    pairs.clear();
    for (size_t i = 1; i < words.ids.size(); ++i)
      pairs.push_back(static_cast<uint64_t>(words.ids[i - 1]) << 32 |
                      static_cast<uint32_t>(words.ids[i]));
    std::sort(pairs.begin(), pairs.end());
  };
  fill(prediction_, pairs_);
  fill(reference_, other_pairs_);
  int64_t hits = 0;
  for (size_t i = 0, j = 0; i < pairs_.size() && j < other_pairs_.size();) {
    const bool equal = pairs_[i] == other_pairs_[j];
    const bool step_i = pairs_[i] <= other_pairs_[j], step_j = other_pairs_[j] <= pairs_[i];
    hits += equal;
    i += step_i;
    j += step_j;
  }
  return hits;
}

std::array<RougeValue, kRougeTypes> RougeScorer::score(std::string_view prediction,
                                                       std::string_view reference) {
  if (words_.size() > kKeptWords) {
    words_.clear();
    stems_.clear();
    stem_of_word_.clear();
  }
  read(prediction, prediction_);
  read(reference, reference_);
  const auto stems = static_cast<size_t>(stems_.size());
  if (count_.size() < stems) {
    count_.resize(stems);
    other_count_.resize(stems);
    slot_.resize(stems);
  }
  const auto m = static_cast<int64_t>(reference_.ids.size());
  const auto n = static_cast<int64_t>(prediction_.ids.size());

  int64_t words = 0;
  for (const int32_t w : reference_.ids) ++count_[static_cast<size_t>(w)];
  for (const int32_t w : prediction_.ids) {
    int32_t& left = count_[static_cast<size_t>(w)];
    if (left > 0) --left, ++words;
  }
  for (const int32_t w : reference_.ids) count_[static_cast<size_t>(w)] = 0;

  std::array<RougeValue, kRougeTypes> values;
  values[kRouge1] = value_of(words, n, m);
  values[kRouge2] = value_of(common_pairs(), n - 1, m - 1);
  const int64_t common = common_subsequence(reference_.ids, prediction_.ids);
  values[kRougeL] = value_of(common, n, m);
  // With one sentence each, the union is the subsequence itself.
  const bool one = prediction_.ends.size() == 1 && reference_.ends.size() == 1;
  values[kRougeLsum] = value_of(one ? common : union_of_sentences(), n, m);
  return values;
}

}  // namespace hone
