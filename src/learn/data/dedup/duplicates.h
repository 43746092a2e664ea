// Finds the duplicate texts to leave out. Each step needs bounded memory, and several processes can divide its work. An
// item of work is a range of the rows. A text has one key, several or none (fingerprints.h). The keys are divided into
// parts by their value.
//
//   1  KeyWriter    for each item: writes the keys of its texts, one section for each part
//   2  find_pairs   for each part: takes the section of that part from all items and finds texts that share a key
//   3  others_by_item (exact keys) or join_pairs (MinHash) turns the pairs into the texts to leave out. join_pairs
//      combines pairs that have a text in common into clusters: A and C may be duplicates only through B
//
// The first text of each cluster stays, in the order of items and rows. So the result does not depend on the number of
// parts or processes.
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

// Collects the keys of an item's texts as `parts` sections for write_sections (sections.h).
class KeyWriter {
 public:
  explicit KeyWriter(int64_t parts) : sections_(static_cast<size_t>(parts)) {}
  // Adds one key of the text in row `row` of the item. Texts of different groups (splits) do not count as duplicates.
  void add(TextKey key, uint32_t group, uint32_t row);
  const std::vector<std::string>& sections() const { return sections_; }

 private:
  std::vector<std::string> sections_;
};

// `other` shares a key with `first`, the first of all texts with this key.
struct DuplicatePair {
  TextId first, other;
};
// Finds the pairs of one part. sections[i] is the section of that part from item i. The pairs are sorted by `other`,
// then by `first`; no pair appears twice.
std::vector<DuplicatePair> find_pairs(const std::vector<std::string>& sections);

// The rows to leave out, one section for each of the `items` items, for write_sections: the row of every `other`,
// ascending, as a u32 in the machine's byte order. `pairs` are sorted by `other`, as find_pairs returns them.
std::vector<std::string> others_by_item(const std::vector<DuplicatePair>& pairs, int64_t items);
// Combines pairs that have a text in common into clusters. Returns all rows except the first of each cluster, in the
// form of others_by_item. `pairs` may be in any order.
std::vector<std::string> join_pairs(const std::vector<DuplicatePair>& pairs, int64_t items);

// Convert pairs to bytes, bytes of pairs_to_bytes to pairs, and a section of others_by_item or join_pairs to row
// numbers. The append functions add to the end of the vector.
std::string pairs_to_bytes(const std::vector<DuplicatePair>& pairs);
void append_pairs(std::string_view bytes, std::vector<DuplicatePair>& pairs);
void append_rows(std::string_view bytes, std::vector<uint32_t>& rows);

}  // namespace hone
