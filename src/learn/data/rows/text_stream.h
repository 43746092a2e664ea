// Rows of a split that is read while it is trained on: memory is that of two windows of rows and one
// batch of text, whatever the size of the data. While the rows of a window are taken, a thread reads
// the next one.
//
// A window is the next `window_rows` rows, and a few more if the last batch of text gave more.
// Shuffled, the rows of a window come in an order drawn by seed, epoch and place of the window, as
// datasets' shuffle(buffer_size) mixes rows that are near to each other. Unshuffled, rows come as
// they are, with the numbers that they have in memory: while batches are full, the bits are those
// of a run without streaming.
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
  int64_t max_rows = -1;      // of an epoch: its first ones; -1: all
  bool read_at_once = false;  // the first window when it is opened, not when rows are asked for
};

// The place of the next row, to be saved and given back.
struct StreamPosition {
  int64_t epoch = 0;
  TextPosition window;  // before the window that the row is in
  int64_t first = 0;    // number of that window's first row in the epoch
  int64_t taken = 0;    // rows of the window that were given

  Json to_json() const;
};
Result<StreamPosition> stream_position_from_json(const Json& json,
                                                 const std::string& name);  // H2102

class TextStream {
 public:
  // The thread that reads ahead calls `tokenize` too, never at the same time as the caller's.
  static Result<std::unique_ptr<TextStream>> open(const TextPart& part, const Tokenize& tokenize,
                                                  const StreamOptions& options);

  // The next rows of the epoch, at most `count`, into `rows` (emptied before); numbers[i] is the
  // number of rows.row(i) in the epoch. Fewer at its end, then none. Errors: those of the data,
  // H2113 and H2114 when an epoch has no row at all. An error in rows that were read ahead comes when
  // they are taken. After an error the place is that before the call: the next call reads again.
  Status take(int64_t count, TokenRows& rows, std::vector<int64_t>& numbers);
  Status next_epoch() { return rewind(place_.epoch + 1); }
  Status rewind(int64_t epoch = 0);

  const StreamPosition& place() const { return place_; }
  Status seek(const StreamPosition& place);
  ~TextStream() { stop_ = true; }  // and waits for the batch of text that is being read

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

  TextReader reader_;  // only the thread that reads ahead uses it, while there is one
  TextPosition start_;
  StreamOptions options_;
  StreamPosition place_;
  Window window_, next_;
  std::optional<RowOrder> order_;
  bool loaded_ = false;            // window_ is the one of place_, and ahead_ is valid
  std::atomic<bool> stop_{false};  // the rows read ahead are not needed
  std::future<Status> ahead_;      // fills next_; its destructor, the first one, waits
};

}  // namespace hone
