// Rows of a split that is read while it is trained on: memory is that of one window of rows and one
// batch of text, whatever the size of the data.
//
// A window is the next `window_rows` rows, and those that the last batch of text gave besides.
// Shuffled, the rows of a window come in an order drawn by seed, epoch and place of the window, as
// datasets' shuffle(buffer_size) mixes rows that are near to each other. Unshuffled, rows come as
// they are, with the numbers that they have in memory: while batches are whole, the bits are those
// of a run without streaming.
#pragma once

#include "learn/data/rows/order.h"
#include "learn/data/rows/text_files.h"

namespace hone {

struct StreamOptions {
  bool shuffle = false;
  int64_t window_rows = 1;
  uint64_t seed = 0;
  int64_t max_rows = -1;  // of an epoch: its first ones; -1: all
};

// Where the next row is. Opaque; it can be saved and given back.
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
  static Result<std::unique_ptr<TextStream>> open(const TextPart& part, const Tokenize& tokenize,
                                                  const StreamOptions& options);

  // The next rows of the epoch, at most `count`, into `rows` (emptied before); numbers[i] is the
  // number of rows.row(i) in the epoch. Fewer at its end, then none. Errors: those of the data,
  // H2113 and H2114 when an epoch has no row at all.
  Status take(int64_t count, TokenRows& rows, std::vector<int64_t>& numbers);
  Status next_epoch() { return rewind(place_.epoch + 1); }
  Status rewind(int64_t epoch = 0);

  const StreamPosition& place() const { return place_; }
  Status seek(const StreamPosition& place);

 private:
  TextStream(std::unique_ptr<RowReader> rows, const TextPart& part, const Tokenize& tokenize,
             const StreamOptions& options);
  Status load_window();

  TextReader reader_;
  TextPosition start_;
  StreamOptions options_;
  StreamPosition place_;
  TokenRows window_;
  std::optional<RowOrder> order_;
  bool loaded_ = false;
};

}  // namespace hone
