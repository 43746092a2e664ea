#include "learn/data/shards/spilled_texts.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/core/philox.h"
#include "learn/data/rows/batch.h"

namespace hone {
namespace {

struct SpilledText {
  uint64_t key = 0;
  uint32_t row = 0, tokens = 0;
};
static_assert(sizeof(SpilledText) == 16);

uint64_t shuffle_key(uint64_t seed, int64_t item, uint32_t row) {
  const auto number = static_cast<uint64_t>(item);
  const PhiloxBlock random =
      philox4x32({row, static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), 0},
                 {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return uint64_t{random[0]} << 32 | random[1];
}

}  // namespace

TextSpill::TextSpill(uint64_t seed, int64_t item, int64_t parts, const Tokenize& tokenize)
    : seed_(seed), item_(item), tokenize_(tokenize), sections_(static_cast<size_t>(parts)) {}

Status TextSpill::add_text(uint32_t row, std::string text) {
  bytes_ += text.size();
  texts_.push_back(std::move(text));
  rows_.push_back(row);
  return texts_.size() < kBatchRows && bytes_ < kBatchBytes ? Status(Ok{}) : flush();
}

Status TextSpill::add_ids(uint32_t row, std::span<const int64_t> ids) {
  std::vector<int32_t> narrow;
  for (const int64_t id : ids)
    narrow.push_back(static_cast<int32_t>(std::clamp<int64_t>(id, -1, INT32_MAX)));
  add(row, narrow);
  return Ok{};
}

Status TextSpill::flush() {
  if (texts_.empty()) return Ok{};
  const std::vector<std::string_view> views(texts_.begin(), texts_.end());
  std::vector<std::vector<int32_t>> ids;
  HONE_TRY(tokenize_(views, ids));
  for (size_t i = 0; i < ids.size(); ++i) add(rows_[i], ids[i]);
  texts_.clear();
  rows_.clear();
  bytes_ = 0;
  return Ok{};
}

void TextSpill::add(uint32_t row, std::span<const int32_t> ids) {
  const SpilledText text{shuffle_key(seed_, item_, row), row, static_cast<uint32_t>(ids.size())};
  const auto part =
      static_cast<size_t>((static_cast<unsigned __int128>(text.key) * sections_.size()) >> 64);
  sections_[part].append(reinterpret_cast<const char*>(&text), sizeof text);
  sections_[part].append(reinterpret_cast<const char*>(ids.data()), ids.size_bytes());
}

Result<std::vector<std::string>> TextSpill::sections() {
  HONE_TRY(flush());
  return std::move(sections_);
}

void SpilledTexts::add(std::string section, int64_t item) {
  sections_.push_back(std::move(section));
  items_.push_back(item);
}

std::vector<std::span<const int32_t>> SpilledTexts::in_order() {
  struct Found {
    std::tuple<uint64_t, int64_t, uint32_t> order;
    std::span<const int32_t> ids;
  };
  std::vector<Found> found;
  for (size_t s = 0; s < sections_.size(); ++s) {
    const std::string& section = sections_[s];
    for (size_t at = 0; section.size() - at >= sizeof(SpilledText);) {
      SpilledText text;
      std::memcpy(&text, section.data() + at, sizeof text);
      at += sizeof text;
      if (text.tokens > (section.size() - at) / sizeof(int32_t)) break;
      found.push_back({{text.key, items_[s], text.row},
                       {reinterpret_cast<const int32_t*>(section.data() + at), text.tokens}});
      at += text.tokens * sizeof(int32_t);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.order < b.order; });
  std::vector<std::span<const int32_t>> texts;
  for (const Found& f : found) texts.push_back(f.ids);
  return texts;
}

}  // namespace hone
