// ROUGE-1, ROUGE-2, ROUGE-L and ROUGE-Lsum of one prediction against one reference, with the
// numbers of the rouge-score package 0.1.2 (Lin, "ROUGE: a Package for Automatic Evaluation of
// Summaries", 2004): words are runs of a-z and 0-9 in the lowercased text, those of more than three
// characters are stemmed; ROUGE-Lsum is the union of longest common subsequences by sentence.
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

// Words that are known are kept until there are 65,536, so memory does not grow with the data.
class RougeScorer {
 public:
  explicit RougeScorer(bool use_stemmer) : use_stemmer_(use_stemmer) {}

  // Sentences for ROUGE-Lsum are the lines of the texts. If the sentences of a text are in one
  // line, join them with "\n" first (run_summarization; sentences.h).
  std::array<RougeValue, kRougeTypes> score(std::string_view prediction,
                                            std::string_view reference);

 private:
  struct Words {
    std::vector<int32_t> ids;
    std::vector<size_t> ends;  // of each line, in ids
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
  // All of the following belongs to one call and keeps its memory.
  Words prediction_, reference_;
  std::vector<int32_t> count_, other_count_;  // by stem
  std::vector<int32_t> slot_;                 // by stem: row of masks_ + 1, or 0
  std::vector<uint64_t> masks_, rows_, pairs_, other_pairs_;
  std::vector<char> marked_;
  std::string word_;
};

}  // namespace hone
