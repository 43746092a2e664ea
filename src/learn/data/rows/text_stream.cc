#include "learn/data/rows/text_stream.h"

#include <algorithm>

#include "learn/data/formats/errors.h"
#include "learn/data/rows/files.h"

namespace hone {

Json StreamPosition::to_json() const {
  return {{"epoch", epoch}, {"window", window.to_json()}, {"first", first}, {"taken", taken}};
}

Result<StreamPosition> stream_position_from_json(const Json& json, const std::string& name) {
  StreamPosition p;
  try {
    p.epoch = json.at("epoch").get<int64_t>();
    p.first = json.at("first").get<int64_t>();
    p.taken = json.at("taken").get<int64_t>();
    if (p.epoch >= 0 && p.first >= 0 && p.taken >= 0) {
      p.window = HONE_TRY(position_from_json(json.at("window"), name));
      return p;
    }
  } catch (const Json::exception&) {
  }
  return Error(err::kDataRead, "there is no position in the data to continue from").at(name);
}

TextStream::TextStream(std::unique_ptr<RowReader> rows, const TextPart& part,
                       const Tokenize& tokenize, const StreamOptions& options)
    : reader_(std::move(rows), part.options, tokenize), start_(reader_.place()), options_(options) {
  place_.window = start_;
}

Result<std::unique_ptr<TextStream>> TextStream::open(const TextPart& part, const Tokenize& tokenize,
                                                     const StreamOptions& options) {
  HONE_BUG_IF(options.window_rows < 1, "windows of {} rows", options.window_rows);
  auto rows = HONE_TRY(open_rows(part.files, part.rows));
  std::unique_ptr<TextStream> stream(new TextStream(std::move(rows), part, tokenize, options));
  if (options.read_at_once) stream->read_ahead(0, false);
  return stream;
}

// Fills next_ from where the reader is. An empty window is the end of the epoch.
Status TextStream::read_next() {
  next_.begin = reader_.place();
  next_.rows.clear();
  const int64_t left =
      options_.max_rows < 0 ? INT64_MAX : std::max<int64_t>(options_.max_rows - next_.first, 0);
  const int64_t wanted = std::min(options_.window_rows, left);
  while (next_.rows.size() < wanted && !stop_ && HONE_TRY(reader_.read(next_.rows))) continue;
  next_.rows.keep_first(left);
  if (next_.first == 0) HONE_TRY(reader_.check_some(next_.rows.size()));
  return Ok{};
}

void TextStream::read_ahead(int64_t first, bool from_start) {
  next_.first = first;
  ahead_ = std::async(std::launch::async, [this, from_start]() -> Status {
    if (from_start) HONE_TRY(reader_.seek(start_));
    return read_next();
  });
}

// After the end of an epoch comes the first window of the next one.
Status TextStream::take_next() {
  loaded_ = false;
  HONE_TRY(ahead_.get());
  std::swap(window_, next_);
  const int64_t rows = window_.rows.size();
  read_ahead(rows > 0 ? window_.first + rows : 0, rows == 0);
  // Windows of all epochs are numbered apart.
  const auto seed = options_.seed ^ (static_cast<uint64_t>(window_.first) << 20);
  order_ = options_.shuffle ? RowOrder::shuffled(rows, seed) : RowOrder::sequential(rows);
  loaded_ = true;
  return Ok{};
}

Status TextStream::take(int64_t count, TokenRows& rows, std::vector<int64_t>& numbers) {
  rows.clear();
  numbers.clear();
  const StreamPosition begin = place_;
  if (!loaded_) HONE_TRY(seek(begin));
  while (rows.size() < count) {
    if (place_.taken == window_.rows.size()) {
      if (window_.rows.size() == 0) break;
      if (Status taken = take_next(); !taken.ok()) {
        place_ = begin;
        return taken;
      }
      place_ = {place_.epoch, window_.begin, window_.first, 0};
      continue;
    }
    const int64_t i = order_->index(place_.epoch, place_.taken++);
    rows.add_from(window_.rows, i);
    numbers.push_back(window_.first + i);
  }
  return Ok{};
}

Status TextStream::rewind(int64_t epoch) { return seek({epoch, start_, 0, 0}); }

Status TextStream::seek(const StreamPosition& place) {
  const bool is_next = ahead_.valid() && place.first == 0 && next_.first == 0;
  if (!is_next) {
    if (ahead_.valid()) {
      stop_ = true;
      (void)ahead_.get();
      stop_ = false;
    }
    loaded_ = false;
    HONE_TRY(reader_.seek(place.window));
    read_ahead(place.first, false);
  }
  place_ = place;
  HONE_TRY(take_next());
  if (place_.taken > window_.rows.size())
    return Error(err::kDataRead, fmt::format("row {} of a window of {} rows: the data have changed",
                                             place_.taken, window_.rows.size()))
        .todo("continue with the files that the run began with");
  return Ok{};
}

}  // namespace hone
