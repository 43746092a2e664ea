// Shuffles all texts of a split although only a part of them fits into memory. Each text gets a random 64-bit key,
// which depends on the seed, the item of work and the row. The shuffled order is the order of the keys. Texts with
// equal keys are ordered by item and row.
//
// First each item divides its texts into parts by ranges of keys, one section of bytes for each part (TextSpill). Then
// each part is read from all items and sorted (SpilledTexts). A text in a section is
//
//   key u64 | row u32 | tokens u32 | ids i32[tokens]
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/data/rows/text_reader.h"

namespace hone {

// Divides the texts of an item into `parts` sections by ranges of keys. `tokenize` must outlive this object.
class TextSpill {
 public:
  TextSpill(uint64_t seed, int64_t item, int64_t parts, const Tokenize& tokenize);
  // Add the text in row `row` of the item, as text or as token ids. Errors: those of `tokenize`.
  Status add_text(uint32_t row, std::string text);
  Status add_ids(uint32_t row, std::span<const int64_t> ids);
  // Returns the sections. Call it once, after the last text. Errors: those of `tokenize`.
  Result<std::vector<std::string>> sections();

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

// The texts of one part, from the sections of all items.
class SpilledTexts {
 public:
  // Adds the section of this part that TextSpill made for an item.
  void add(std::string section, int64_t item);
  // The texts sorted by key; valid as long as this object.
  std::vector<std::span<const int32_t>> in_order();

 private:
  std::vector<std::string> sections_;
  std::vector<int64_t> items_;
};

}  // namespace hone
