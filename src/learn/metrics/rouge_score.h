// ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of one prediction against one reference (Lin, "ROUGE: a Package for
// Automatic Evaluation of Summaries", 2004). Values are those of the package rouge-score 0.1.2. Words are runs of a-z
// and 0-9 in the lowercased text; words of more than three characters are stemmed if the scorer uses the stemmer.
// ROUGE-Lsum takes the union of the longest common subsequences of the sentences.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/metrics/interner.h"

namespace hone {

enum RougeType { kRouge1, kRouge2, kRougeL, kRougeLsum, kRougeTypes };

struct RougeValue {
  double precision = 0, recall = 0, fmeasure = 0;
};

// Keeps the stems of at most 65,536 words, so memory does not grow with the data.
class RougeScorer {
 public:
  explicit RougeScorer(bool use_stemmer) : use_stemmer_(use_stemmer) {}

  // The scores, indexed by RougeType. For ROUGE-Lsum each line of a text is a sentence: put "\n" between the sentences
  // first, as run_summarization does (SentenceSplitter::lines in sentences.h).
  std::array<RougeValue, kRougeTypes> score(std::string_view prediction,
                                            std::string_view reference);

 private:
  struct Words {
    std::vector<int32_t> ids;  // numbers of the stems of all words
    std::vector<size_t> ends;  // for each line, the index in `ids` after its last word
  };
  void read(std::string_view text, Words& words);
  int32_t stem_id(std::string_view word);
  int64_t common_subsequence(std::span<const int32_t> a, std::span<const int32_t> b);
  int64_t union_of_sentences();
  int64_t common_pairs();
  void mark_common(std::span<const int32_t> reference, std::span<const int32_t> candidate);
  size_t place(std::span<const int32_t> words);
  void forget_places(std::span<const int32_t> words);

  bool use_stemmer_;
  Interner words_, stems_;
  std::vector<int32_t> stem_of_word_;
  // Scratch memory of score(), reused by the next call.
  Words prediction_, reference_;
  std::vector<int32_t> count_, other_count_;  // indexed by stem
  // Indexed by stem: 1 + its row in masks_; 0: it has none.
  std::vector<int32_t> slot_;
  std::vector<uint64_t> masks_, rows_, pairs_, other_pairs_;
  std::vector<char> marked_;
  std::string word_;
};

}  // namespace hone
