#include "learn/data/rows/token_rows.h"

#include <algorithm>

#include "base/core/error.h"

namespace hone {

int64_t TokenRows::tokens() const {
  if (views_.empty()) return offsets_.back();
  int64_t sum = 0;
  for (size_t v = 0; v < views_.size(); ++v)
    sum += views_[v].offsets[std::min(views_[v].rows, rows_ - begins_[v])];
  return sum;
}

size_t TokenRows::view_of(int64_t i) const {
  return static_cast<size_t>(std::upper_bound(begins_.begin(), begins_.end(), i) -
                             begins_.begin()) -
         1;
}

std::vector<int64_t> TokenRows::lengths() const {
  std::vector<int64_t> all(static_cast<size_t>(size()));
  for (int64_t i = 0; i < size(); ++i) all[static_cast<size_t>(i)] = length(i);
  return all;
}

std::span<const int32_t> TokenRows::viewed_row(int64_t i) const {
  const size_t v = view_of(i);
  const RowsView& view = views_[v];
  const int64_t at = i - begins_[v];
  const int32_t begin = view.offsets[at], end = view.offsets[at + 1];
  if (begin < 0 || end < begin || end > view.tokens) return {};
  return {view.ids + begin, static_cast<size_t>(end - begin)};
}

Status TokenRows::check_unchanged() const {
  for (const RowsView& view : views_) HONE_TRY(view.file->check_unchanged());
  return Ok{};
}

Status TokenRows::check_unchanged(std::span<const int64_t> rows) const {
  if (views_.empty()) return Ok{};
  for (const RowsView& view : views_)
    if (view.file->lost()) return view.file->check_unchanged();
  size_t asked = views_.size();
  for (const int64_t row : rows) {
    const size_t v = view_of(row);
    if (v == asked) continue;
    asked = v;
    HONE_TRY(views_[v].file->check_unchanged());
  }
  return Ok{};
}

namespace {

// A place: the file's number from 1, the line, and whether it is a row's number.
constexpr int kLineBits = 47;
constexpr RowOrigin kMostLine = (RowOrigin{1} << kLineBits) - 1, kMostFiles = 0xffff;

size_t file_of(RowOrigin place) { return static_cast<size_t>(place >> (kLineBits + 1)) - 1; }
int64_t line_of(RowOrigin place) { return static_cast<int64_t>(place >> 1 & kMostLine); }
bool is_row_of(RowOrigin place) { return (place & 1) != 0; }

}  // namespace

RowOrigin TokenRows::place_in(std::string_view file, int64_t line, bool is_row) {
  if (line < 1 || static_cast<RowOrigin>(line) > kMostLine) return 0;
  // Rows of one file come one after another.
  const auto known = !files_.empty() && files_.back() == file
                         ? std::prev(files_.end())
                         : std::find(files_.begin(), files_.end(), file);
  const auto number = static_cast<RowOrigin>(known - files_.begin()) + 1;
  if (known == files_.end()) {
    if (files_.size() == kMostFiles) return 0;
    files_.emplace_back(file);
  }
  return number << (kLineBits + 1) | static_cast<RowOrigin>(line) << 1 | (is_row ? 1 : 0);
}

RowOrigin TokenRows::place_of(int64_t i) const {
  const auto k = static_cast<size_t>(i);
  return k < places_.size() ? places_[k] : 0;
}

std::string TokenRows::place_text(int64_t i) const {
  const RowOrigin place = place_of(i);
  if (place == 0) return "";
  return fmt::format("{}{}{}", files_[file_of(place)], is_row_of(place) ? " row " : ":",
                     line_of(place));
}

void TokenRows::add_from(const TokenRows& other, int64_t i) {
  const RowOrigin place = other.place_of(i);
  add(other.row(i),
      place == 0 ? 0 : place_in(other.files_[file_of(place)], line_of(place), is_row_of(place)));
}

void TokenRows::add(std::span<const int32_t> ids, RowOrigin place) {
  HONE_BUG_IF(!views_.empty(), "a row beside {} views", views_.size());
  ids_.append(ids);
  offsets_.push_back(static_cast<int64_t>(ids_.size()));
  if (place != 0) {
    places_.resize(static_cast<size_t>(rows_));
    places_.push_back(place);
  }
  ++rows_;
  hash_.reset();
}

void TokenRows::add(RowsView view) {
  HONE_BUG_IF(!ids_.empty() || rows_ != (views_.empty() ? 0 : begins_.back() + views_.back().rows),
              "a view past {} rows", rows_);
  if (view.rows == 0) return;
  begins_.push_back(rows_);
  rows_ += view.rows;
  views_.push_back(std::move(view));
  hash_.reset();
}

void TokenRows::keep_first(int64_t rows) {
  if (rows >= size()) return;
  rows_ = rows;
  hash_.reset();
  while (!begins_.empty() && begins_.back() >= rows) {
    begins_.pop_back();
    views_.pop_back();
  }
  if (!views_.empty()) return;
  if (places_.size() > static_cast<size_t>(rows)) places_.resize(static_cast<size_t>(rows));
  offsets_.keep_first(static_cast<size_t>(rows) + 1);
  ids_.keep_first(static_cast<size_t>(offsets_.back()));
}

void TokenRows::clear() {
  rows_ = 0;
  ids_.clear();
  places_.clear();
  offsets_.keep_first(1);
  views_.clear();
  begins_.clear();
  hash_.reset();
}

int64_t TokenRows::memory_bytes() const {
  return static_cast<int64_t>(ids_.capacity() * sizeof(int32_t) +
                              offsets_.capacity() * sizeof(int64_t) +
                              places_.capacity() * sizeof(RowOrigin));
}

uint64_t TokenRows::hash() const {
  if (hash_) return *hash_;
  RowsHash hash;
  for (int64_t i = 0; i < rows_; ++i) hash.add(row(i));
  return hash.value();
}

void TextBuilder::add(std::span<const int32_t> ids, TokenRows& out, RowOrigin place) {
  auto& [counts, pending, group_rows] = state_;
  ++counts.rows_read;
  counts.tokens_read += static_cast<int64_t>(ids.size());
  const auto block = static_cast<size_t>(options_.block_size);
  if (options_.grouping == Grouping::kBlocks) {
    const size_t before = pending.size();
    if (before == 0) pending_place_ = place;
    pending.insert(pending.end(), ids.begin(), ids.end());
    size_t begin = 0;
    for (; pending.size() - begin >= block; begin += block) {
      out.add({pending.data() + begin, block}, begin < before ? pending_place_ : place);
      ++counts.rows_kept;
      counts.tokens_kept += options_.block_size;
    }
    if (begin >= before) pending_place_ = place;
    pending.erase(pending.begin(), pending.begin() + static_cast<std::ptrdiff_t>(begin));
    if (++group_rows == kGroupRows) close_group();
    return;
  }
  pending.assign(ids.begin(), ids.end());
  const bool append = options_.eos && (pending.empty() || pending.back() != *options_.eos);
  if (append) pending.push_back(*options_.eos);
  if (pending.size() > block) {
    // A text that was cut did not end, so the EOS falls off with the rest.
    ++counts.rows_cut;
    counts.tokens_dropped += static_cast<int64_t>(pending.size() - block) - (append ? 1 : 0);
    const auto kept = static_cast<std::ptrdiff_t>(
        std::clamp<int64_t>(options_.last_kept, 0, options_.block_size));
    std::copy(pending.end() - kept, pending.end(),
              pending.begin() + static_cast<std::ptrdiff_t>(block) - kept);
    pending.resize(block);
  } else if (append && pending.size() >= 2) {
    ++counts.eos_appended;
  }
  if (pending.size() < 2) {
    ++counts.rows_too_short;
    counts.tokens_dropped += static_cast<int64_t>(ids.size());
    return;
  }
  out.add(pending, place);
  ++counts.rows_kept;
  counts.tokens_kept += static_cast<int64_t>(pending.size());
}

void TextBuilder::close_group() {
  auto& [counts, pending, group_rows] = state_;
  counts.tokens_dropped += static_cast<int64_t>(pending.size());
  pending.clear();
  group_rows = 0;
}

void TextBuilder::finish() {
  if (options_.grouping == Grouping::kBlocks) close_group();
}

}  // namespace hone
