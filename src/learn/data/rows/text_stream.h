// Streams the rows of a split during training. A TextStream holds two windows of rows and one batch of text in memory,
// whatever the size of the data. While the rows of one window are used, a thread reads the next window.
//
// A window has `window_rows` rows, or a few more if its last batch of text gave more. With `shuffle` the rows of a
// window are permuted; the permutation depends on the seed, the epoch and the window. So only rows near each other are
// mixed, as by shuffle(buffer_size) of the datasets library. Without `shuffle` rows keep their order and their numbers,
// and a run whose batches are all full computes the same bits as a run without streaming.
#pragma once

#include <atomic>
#include <future>

#include "learn/data/rows/order.h"
#include "learn/data/rows/text_files.h"

namespace hone {

struct StreamOptions {
  bool shuffle = false;
  int64_t window_rows = 1;
  uint64_t seed = 0;
  int64_t max_rows = -1;  // largest number of rows to use in an epoch, from the first on; -1: all
  // true: open() starts to read the first window; false: the first take() does.
  bool read_at_once = false;
};

// The position of the next row, to save and to pass to seek().
struct StreamPosition {
  int64_t epoch = 0;
  TextPosition window;  // position of the TextReader at the start of the window that holds the row
  int64_t first = 0;    // number of the window's first row, counted from the start of the epoch
  int64_t taken = 0;    // rows of the window that take() returned

  Json to_json() const;
};
// The inverse of to_json(). `name` is the file in messages. Errors: H2102 the JSON is not a position.
Result<StreamPosition> stream_position_from_json(const Json& json, const std::string& name);

class TextStream {
 public:
  // Opens the files of a part. A thread of the stream calls `tokenize`, one call at a time, while the caller works.
  // Errors: those of open_rows.
  static Result<std::unique_ptr<TextStream>> open(const TextPart& part, const Tokenize& tokenize,
                                                  const StreamOptions& options);

  // Replaces `rows` by the next rows of the epoch, at most `count`. numbers[i] becomes the number of rows.row(i): its
  // position in the epoch before shuffling, from 0. Returns fewer rows at the end of the epoch, and none after it.
  // Errors: those of the data, when the rows that caused them are taken; H2113 or H2114 of check_some_rows if the epoch
  // has no rows. After an error place() is unchanged: the next call reads the same rows again.
  Status take(int64_t count, TokenRows& rows, std::vector<int64_t>& numbers);
  // next_epoch() continues at the first row of the next epoch, rewind() at the first row of epoch `epoch`. Errors: as
  // take().
  Status next_epoch() { return rewind(place_.epoch + 1); }
  Status rewind(int64_t epoch = 0);

  const StreamPosition& place() const { return place_; }
  // Continues at a saved position of a stream with the same part and options. Errors: as take(); H2102 the data has
  // changed and no longer has a row at this position.
  Status seek(const StreamPosition& place);
  ~TextStream() { stop_ = true; }  // waits until the thread has read its current batch

 private:
  TextStream(std::unique_ptr<RowReader> rows, const TextPart& part, const Tokenize& tokenize,
             const StreamOptions& options);
  struct Window {
    TextPosition begin;
    int64_t first = 0;
    TokenRows rows;
  };
  Status read_next();
  void read_ahead(int64_t first, bool from_start);
  Status take_next();

  TextReader reader_;  // while the thread that reads ahead runs, only that thread uses it
  TextPosition start_;
  StreamOptions options_;
  StreamPosition place_;
  Window window_, next_;
  std::optional<RowOrder> order_;
  bool loaded_ = false;            // window_ is the window of place_, and ahead_ is valid
  std::atomic<bool> stop_{false};  // tells the thread that its rows are not needed
  // The result of the thread that fills next_. Keep it the last member: it is destroyed first and waits for the thread.
  std::future<Status> ahead_;
};

}  // namespace hone
