#include "learn/files/encode_file.h"

#include <algorithm>
#include <atomic>

#include "learn/files/id_lines.h"
#include "learn/files/text_parser.h"

namespace hone {
namespace {

constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr size_t kBatchRows = 1 << 16;
constexpr size_t kChunkBytes = size_t{1} << 17;  // that a thread takes at a time

class FileEncoder {
 public:
  FileEncoder(const Tokenizer& tokenizer, const EncodeFileOptions& o)
      : options_(o),
        tokenizer_(tokenizer),
        pool_(o.threads > 0 ? o.threads : ThreadPool::default_size()),
        workers_(static_cast<size_t>(pool_.size())),
        lines_(tokenizer.id_limit()) {}

  // Puts the lines of the batch into `chunks`, in order. One thread does `meanwhile` first, while
  // the others begin. After an error they hold what precedes the chunk with the row that made
  // it.
  Status encode(std::span<const TextItem> batch, std::vector<std::string>& chunks,
                FunctionRef<void()> meanwhile) {
    if (batch.size() == 1) {
      meanwhile();
      chunks.resize(1);
      return encode_into_chunk(chunks[0], workers_[0],
                               [&](Worker& w) { return encode_alone(batch[0], w); });
    }
    const std::vector<size_t> first = chunk_borders(batch);
    chunks.resize(first.size() - 1);
    std::vector<Status> done(chunks.size(), Ok{});
    std::atomic<size_t> next = 0;
    pool_.run([&](int thread) {
      if (thread == 0) meanwhile();
      for (size_t k; (k = next++) < chunks.size();)
        done[k] = encode_into_chunk(chunks[k], workers_[static_cast<size_t>(thread)],
                                    [&](Worker& w) -> Status {
                                      for (size_t i = first[k]; i < first[k + 1]; ++i)
                                        HONE_TRY(encode_into(batch[i], w));
                                      return Ok{};
                                    });
    });
    const auto failed =
        std::find_if(done.begin(), done.end(), [](const Status& d) { return !d.ok(); });
    if (failed == done.end()) return Ok{};
    chunks.resize(static_cast<size_t>(failed - done.begin()));
    return *failed;
  }

 private:
  // Buffers that one thread reuses from row to row.
  struct Worker {
    TextParser parser;
    Encoding row;
    std::string lines;
  };

  static std::vector<size_t> chunk_borders(std::span<const TextItem> batch) {
    std::vector<size_t> first = {0};
    for (size_t i = 0, bytes = 0; i < batch.size(); ++i) {
      bytes += batch[i].text.size() + 64;
      if (bytes < kChunkBytes && i + 1 < batch.size()) continue;
      first.push_back(i + 1);
      bytes = 0;
    }
    return first;
  }

  template <class Encode>
  static Status encode_into_chunk(std::string& chunk, Worker& w, const Encode& encode) {
    w.lines.swap(chunk);  // so `chunk` keeps its memory
    w.lines.clear();
    const Status done = encode(w);
    w.lines.swap(chunk);
    return done;
  }

  bool plain() const {
    return options_.truncate.strategy == Truncation::do_not_truncate && !options_.type_ids;
  }

  Status encode_into(const TextItem& item, Worker& w) const {
    const TextParser::Texts texts = HONE_TRY(w.parser.parse(item, options_.input));
    if (!texts.pair && plain()) {
      w.row.ids.clear();
      tokenizer_.encode_to(texts.text, w.row.ids, options_.encode);
      lines_.append(w.row.ids, w.lines);
      return Ok{};
    }
    const Status done =
        tokenizer_.encode_to(texts.text, texts.pair, w.row, options_.encode, options_.truncate);
    if (!done.ok()) return Error(done.error()).at(place_of(item, options_.input));
    if (texts.pair || options_.type_ids)
      lines_.append(w.row.ids, w.row.type_ids, w.lines);
    else
      lines_.append(w.row.ids, w.lines);
    return Ok{};
  }

  // One long text: its pieces are spread over the threads.
  Status encode_alone(const TextItem& item, Worker& w) {
    const TextParser::Texts texts = HONE_TRY(w.parser.parse(item, options_.input));
    if (texts.pair || !plain()) return encode_into(item, w);
    lines_.append(tokenizer_.encode_batch(std::span(&texts.text, 1), &pool_, options_.encode)[0],
                  w.lines);
    return Ok{};
  }

  const EncodeFileOptions& options_;
  const Tokenizer& tokenizer_;
  ThreadPool pool_;
  std::vector<Worker> workers_;  // one for each thread
  IdLines lines_;
};

}  // namespace

Status encode_file(TextInput& input, const Tokenizer& tokenizer, const EncodeFileOptions& options,
                   FunctionRef<Status(std::string_view)> sink) {
  FileEncoder encoder(tokenizer, options);
  std::vector<std::string> chunks, before;  // lines of this batch, and of the one before it
  const auto put = [&](const std::vector<std::string>& all) -> Status {
    for (const std::string& lines : all) HONE_TRY(sink(lines));
    return Ok{};
  };
  std::vector<TextItem> batch(1), coming(1);  // the first item of the coming batch is there
  size_t rows = 0;
  bool more = HONE_TRY(input.next(coming[0]));
  // A text as large as a batch comes alone; the first item of the next one waits at the end.
  const auto read = [&]() -> Status {
    rows = 0;
    for (size_t bytes = 0; more && rows < kBatchRows &&
                           (rows == 0 || bytes + coming[rows].text.size() <= kBatchBytes);) {
      bytes += coming[rows].text.size();
      if (++rows == coming.size()) coming.emplace_back();
      more = HONE_TRY(input.next(coming[rows]));
    }
    return Ok{};
  };
  HONE_TRY(read());
  while (rows > 0) {
    const size_t count = rows;
    batch.swap(coming);
    std::swap(coming[0], batch[count]);
    Status was_put = Ok{}, was_read = Ok{};
    const Status done = encoder.encode(std::span(batch).first(count), chunks, [&] {
      was_put = put(before);
      was_read = read();
    });
    HONE_TRY(was_put);
    std::swap(chunks, before);
    if (!done.ok() || !was_read.ok()) {
      HONE_TRY(put(before));
      return done.ok() ? was_read.error() : done.error();
    }
  }
  return put(before);
}

}  // namespace hone
