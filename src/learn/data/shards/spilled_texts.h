// A global order of texts, in memory for a part of them at a time. Each text has a random key, which
// follows from the seed, its item of work and its row; the order is that of the keys. All orders are
// equally likely but for the ties of 64-bit keys, which item and row decide.
//
// A text in a section: key u64 | row u32 | tokens u32 | ids i32[tokens].
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/rows/text_reader.h"

namespace hone {

// Spreads the texts of an item over `parts` sections, by ranges of keys.
class TextSpill {
 public:
  TextSpill(uint64_t seed, int64_t item, int64_t parts, const Tokenize& tokenize);
  // Errors: those of `tokenize`.
  Status add_text(uint32_t row, std::string text);
  Status add_ids(uint32_t row, std::span<const int64_t> ids);
  Result<std::vector<std::string>> sections();  // after the last text

 private:
  Status flush();
  void add(uint32_t row, std::span<const int32_t> ids);

  uint64_t seed_;
  int64_t item_;
  const Tokenize& tokenize_;
  std::vector<std::string> sections_;
  std::vector<std::string> texts_;  // not tokenised yet
  std::vector<uint32_t> rows_;
  size_t bytes_ = 0;
};

// The texts of one section of all items.
class SpilledTexts {
 public:
  void add(std::string section, int64_t item);
  std::vector<std::span<const int32_t>> in_order();  // valid while this object is

 private:
  std::vector<std::string> sections_;
  std::vector<int64_t> items_;
};

}  // namespace hone
