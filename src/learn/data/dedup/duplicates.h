// Finds the texts to leave out, in steps of bounded memory that processes share:
//
//   1  for each item of work: the keys of its texts, in parts by key        KeyWriter
//   2  for each part of all items: texts that share a key                   find_pairs
//   3  exact: the pairs name the texts to leave out. MinHash: join_pairs links them to clusters, since a
//      text may be a duplicate of another through a third
//
// The first text of a cluster stays, in the order of items and rows, so the result depends on nothing
// else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "learn/data/dedup/fingerprints.h"

namespace hone {

struct TextId {
  uint32_t item = 0, row = 0;  // row in the item, from 0
  auto operator<=>(const TextId&) const = default;
};

// The keys of an item, as sections for write_sections.
class KeyWriter {
 public:
  explicit KeyWriter(int64_t parts) : sections_(static_cast<size_t>(parts)) {}
  // Texts of different groups (splits) are never duplicates.
  void add(TextKey key, uint32_t group, uint32_t row);
  const std::vector<std::string>& sections() const { return sections_; }

 private:
  std::vector<std::string> sections_;
};

// A text, and the first text that has one of its keys.
struct DuplicatePair {
  TextId first, other;
};
// `sections[i]` is the section of one part from item i. Sorted by `other`; no pair comes twice.
std::vector<DuplicatePair> find_pairs(const std::vector<std::string>& sections);

// The texts to leave out of each item, as rows in ascending order, u32 each: for write_sections.
std::vector<std::string> others_by_item(const std::vector<DuplicatePair>& pairs, int64_t items);
// Treats linked pairs as one cluster, of which the first text stays, and returns the others likewise.
std::vector<std::string> join_pairs(const std::vector<DuplicatePair>& pairs, int64_t items);

std::string pairs_to_bytes(const std::vector<DuplicatePair>& pairs);
void append_pairs(std::string_view bytes, std::vector<DuplicatePair>& pairs);
void append_rows(std::string_view bytes, std::vector<uint32_t>& rows);

}  // namespace hone
