#include "learn/data/dedup/duplicates.h"

#include <algorithm>
#include <cstring>

namespace hone {
namespace {

constexpr size_t kRecordBytes = sizeof(TextKey) + sizeof(uint32_t);

// The part of [0, parts) for a key of evenly distributed bits.
size_t part_of(uint64_t key, size_t parts) {
  return static_cast<size_t>((static_cast<unsigned __int128>(key) * parts) >> 64);
}

struct KeyedText {
  TextKey key;
  TextId id;
  auto operator<=>(const KeyedText&) const = default;
};

}  // namespace

void KeyWriter::add(TextKey key, uint32_t group, uint32_t row) {
  key[1] ^= group * 0x9e3779b97f4a7c15u;
  std::string& section = sections_[part_of(key[0], sections_.size())];
  section.append(reinterpret_cast<const char*>(key.data()), sizeof key);
  section.append(reinterpret_cast<const char*>(&row), sizeof row);
}

std::vector<DuplicatePair> find_pairs(const std::vector<std::string>& sections) {
  std::vector<KeyedText> texts;
  for (size_t item = 0; item < sections.size(); ++item)
    for (size_t at = 0; at + kRecordBytes <= sections[item].size(); at += kRecordBytes) {
      KeyedText& text = texts.emplace_back();
      std::memcpy(text.key.data(), sections[item].data() + at, sizeof text.key);
      std::memcpy(&text.id.row, sections[item].data() + at + sizeof text.key, sizeof text.id.row);
      text.id.item = static_cast<uint32_t>(item);
    }
  std::sort(texts.begin(), texts.end());
  std::vector<DuplicatePair> pairs;
  for (size_t i = 0, first = 0; i < texts.size(); ++i) {
    if (texts[i].key != texts[first].key) first = i;
    if (texts[i].id != texts[first].id) pairs.push_back({texts[first].id, texts[i].id});
  }
  const auto by_other = [](const DuplicatePair& a, const DuplicatePair& b) {
    return std::pair(a.other, a.first) < std::pair(b.other, b.first);
  };
  std::sort(pairs.begin(), pairs.end(), by_other);
  const auto same = [](const DuplicatePair& a, const DuplicatePair& b) {
    return a.other == b.other && a.first == b.first;
  };
  pairs.erase(std::unique(pairs.begin(), pairs.end(), same), pairs.end());
  return pairs;
}

std::vector<std::string> others_by_item(const std::vector<DuplicatePair>& pairs, int64_t items) {
  std::vector<std::string> rows(static_cast<size_t>(items));
  TextId last{UINT32_MAX, UINT32_MAX};
  for (const DuplicatePair& pair : pairs) {
    if (pair.other == last) continue;
    last = pair.other;
    rows[last.item].append(reinterpret_cast<const char*>(&last.row), sizeof last.row);
  }
  return rows;
}

std::vector<std::string> join_pairs(const std::vector<DuplicatePair>& pairs, int64_t items) {
  std::vector<TextId> texts;
  for (const DuplicatePair& pair : pairs) texts.insert(texts.end(), {pair.first, pair.other});
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  const auto index_of = [&](TextId id) {
    return static_cast<size_t>(std::lower_bound(texts.begin(), texts.end(), id) - texts.begin());
  };
  // Roots are the first texts of their clusters.
  std::vector<size_t> parent(texts.size());
  for (size_t i = 0; i < parent.size(); ++i) parent[i] = i;
  const auto root_of = [&](size_t i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const DuplicatePair& pair : pairs) {
    const size_t a = root_of(index_of(pair.first)), b = root_of(index_of(pair.other));
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<std::string> rows(static_cast<size_t>(items));
  for (size_t i = 0; i < texts.size(); ++i)
    if (root_of(i) != i)
      rows[texts[i].item].append(reinterpret_cast<const char*>(&texts[i].row), sizeof texts[i].row);
  return rows;
}

std::string pairs_to_bytes(const std::vector<DuplicatePair>& pairs) {
  return {reinterpret_cast<const char*>(pairs.data()), pairs.size() * sizeof(DuplicatePair)};
}

void append_pairs(std::string_view bytes, std::vector<DuplicatePair>& pairs) {
  const size_t before = pairs.size(), more = bytes.size() / sizeof(DuplicatePair);
  pairs.resize(before + more);
  if (more > 0) std::memcpy(pairs.data() + before, bytes.data(), more * sizeof(DuplicatePair));
}

void append_rows(std::string_view bytes, std::vector<uint32_t>& rows) {
  const size_t before = rows.size(), more = bytes.size() / sizeof(uint32_t);
  rows.resize(before + more);
  if (more > 0) std::memcpy(rows.data() + before, bytes.data(), more * sizeof(uint32_t));
}

}  // namespace hone
