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
  return std::unique_ptr<TextStream>(
      new TextStream(HONE_TRY(open_rows(part.files, part.rows)), part, tokenize, options));
}

// Fills the window that place_ says. An empty one is the end of the epoch.
Status TextStream::load_window() {
  window_.clear();
  const int64_t left =
      options_.max_rows < 0 ? INT64_MAX : std::max<int64_t>(options_.max_rows - place_.first, 0);
  const int64_t wanted = std::min(options_.window_rows, left);
  while (window_.size() < wanted && HONE_TRY(reader_.read(window_))) continue;
  window_.keep_first(left);
  if (place_.first == 0) HONE_TRY(reader_.check_some(window_.size()));
  // Windows of all epochs are numbered apart.
  const auto seed = options_.seed ^ (static_cast<uint64_t>(place_.first) << 20);
  order_ = options_.shuffle ? RowOrder::shuffled(window_.size(), seed)
                            : RowOrder::sequential(window_.size());
  loaded_ = true;
  return Ok{};
}

Status TextStream::take(int64_t count, TokenRows& rows, std::vector<int64_t>& numbers) {
  rows.clear();
  numbers.clear();
  if (!loaded_) HONE_TRY(load_window());
  while (rows.size() < count) {
    if (place_.taken == window_.size()) {
      if (window_.size() == 0) break;
      place_.first += window_.size();
      place_.taken = 0;
      place_.window = reader_.place();
      HONE_TRY(load_window());
      continue;
    }
    const int64_t i = order_->index(place_.epoch, place_.taken++);
    rows.add_from(window_, i);
    numbers.push_back(place_.first + i);
  }
  return Ok{};
}

Status TextStream::rewind(int64_t epoch) { return seek({epoch, start_, 0, 0}); }

Status TextStream::seek(const StreamPosition& place) {
  HONE_TRY(reader_.seek(place.window));
  place_ = place;
  HONE_TRY(load_window());
  if (place_.taken > window_.size())
    return Error(err::kDataRead, fmt::format("row {} of a window of {} rows: the data have changed",
                                             place_.taken, window_.size()))
        .todo("continue with the files that the run began with");
  return Ok{};
}

}  // namespace hone
