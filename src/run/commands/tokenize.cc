// hone tokenize: rows of text in, one line {"ids":[...]} out for each, in order; of a pair
// {"ids":[...],"token_type_ids":[...]}. Memory is that of two batches, whatever the size of the
// input.
#include <simdjson.h>

#include <atomic>
#include <charconv>
#include <cstring>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/formats/json_rows.h"
#include "learn/data/rows/files.h"
#include "learn/pretrained/open.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct TokenizeSettings {
#define HONE_SETTINGS "run/commands/tokenize.def"
#include "base/settings/fields.inc"
};

constexpr size_t kBatchBytes = size_t{4} << 20;
constexpr size_t kBatchRows = 1 << 16;
constexpr int64_t kMostSpelled = 1 << 18;
constexpr size_t kChunkBytes = size_t{1} << 17;  // that a thread takes at a time

// Items are used again and again, so that their strings keep their memory.
struct Item {
  std::string text;  // a line of jsonl, or the text
  std::optional<std::string> pair;
  int64_t line = 0;
  bool is_json = false;

  void reset() {
    text.clear();
    pair.reset();
  }
};

// The source of rows. next() returns false after the last one.
class Input {
 public:
  virtual ~Input() = default;
  virtual Result<bool> next(Item& item) = 0;
};

// Lines of jsonl, which are parsed later, by many threads.
class JsonLines final : public Input {
 public:
  explicit JsonLines(std::unique_ptr<Source> source) : in_(std::move(source)) { in_.skip_bom(); }
  Result<bool> next(Item& item) override {
    do {
      item.reset();
      item.is_json = true;
      item.line = in_.line();
      const bool more = in_.take_until('\n', item.text);
      HONE_TRY(in_.status());
      if (more)
        in_.get();
      else if (item.text.empty())
        return false;
    } while (item.text.find_first_not_of(" \t\r") == std::string::npos);
    return true;
  }

 private:
  ByteReader in_;
};

// Any other data file.
class Rows final : public Input {
 public:
  static Result<std::unique_ptr<Input>> open(const TokenizeSettings& s) {
    auto input = std::make_unique<Rows>();
    input->rows_ = HONE_TRY(open_rows({s.input}));
    input->name_ = s.text_column_name;
    input->column_ = HONE_TRY(text_column(*input->rows_, s.text_column_name));
    const auto& columns = input->rows_->columns();
    const auto pair = std::find(columns.begin(), columns.end(), s.text_pair);
    input->pair_name_ = s.text_pair;
    if (pair != columns.end()) input->pair_ = static_cast<size_t>(pair - columns.begin());
    return std::unique_ptr<Input>(std::move(input));
  }
  Result<bool> next(Item& item) override {
    if (!HONE_TRY(rows_->next(row_))) return false;
    item.reset();
    item.text = HONE_TRY(cell_text(row_, column_, name_.empty() ? "text" : name_));
    if (pair_) item.pair = HONE_TRY(cell_text(row_, *pair_, pair_name_));
    item.line = row_.line;
    return true;
  }

 private:
  std::unique_ptr<RowReader> rows_;
  std::string name_, pair_name_;
  size_t column_ = 0;
  std::optional<size_t> pair_;
  Row row_;
};

Result<std::unique_ptr<Input>> open_input(const TokenizeSettings& s) {
  if (s.input == "-")
    return std::unique_ptr<Input>(
        std::make_unique<JsonLines>(HONE_TRY(open_file_source("/dev/stdin"))));
  if (s.input.ends_with(".jsonl") || s.input.ends_with(".ndjson"))
    return std::unique_ptr<Input>(std::make_unique<JsonLines>(HONE_TRY(open_file_source(s.input))));
  return Rows::open(s);
}

TruncateOptions truncate_options(const TokenizeSettings& s, const Tokenizer& tokenizer) {
  const std::optional<int64_t> length =
      s.max_length > 0 ? std::optional(s.max_length) : std::nullopt;
  if (s.truncation.empty())
    return tokenizer.truncate_options(
        length ? Truncation::longest_first : Truncation::do_not_truncate, length);
  return tokenizer.truncate_options(*truncation_named(s.truncation), length);
}

class Encoder {
 public:
  Encoder(const TokenizeSettings& s, Tokenizer tokenizer)
      : settings_(s),
        tokenizer_(std::move(tokenizer)),
        pool_(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size()),
        workers_(static_cast<size_t>(pool_.size())),
        spelled_(spell(static_cast<size_t>(std::min(tokenizer_.id_limit(), kMostSpelled)))),
        options_{.add_special_tokens = s.add_special_tokens,
                 .split_special_tokens = s.split_special_tokens},
        truncate_(truncate_options(s, tokenizer_)),
        key_(s.text_column_name.empty() ? "text" : s.text_column_name) {}

  // Puts the lines of the batch into `chunks`, in order. One thread does `meanwhile` first, while
  // the others begin. After an error they hold what precedes the chunk with the row that made
  // it.
  Status encode(std::span<const Item> batch, std::vector<std::string>& chunks,
                FunctionRef<void()> meanwhile) {
    if (batch.size() == 1) {
      meanwhile();
      chunks.resize(1);
      return encode_into_chunk(chunks[0], workers_[0],
                               [&](Worker& w) { return encode_alone(batch[0], w); });
    }
    std::vector<size_t> first = {0};
    for (size_t i = 0, bytes = 0; i < batch.size(); ++i) {
      bytes += batch[i].text.size() + 64;
      if (bytes < kChunkBytes && i + 1 < batch.size()) continue;
      first.push_back(i + 1);
      bytes = 0;
    }
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
  std::string place(const Item& item) const {
    return fmt::format("{}:{}", settings_.input == "-" ? "standard input" : settings_.input,
                       item.line);
  }

  // Buffers that one thread reuses from row to row. Views of a row live until its next one.
  struct Worker {
    simdjson::dom::parser parser;
    std::string text, pair;  // of a row that the slow parser took
    Encoding row;
    std::string lines;
  };
  struct Texts {
    std::string_view text;
    std::optional<std::string_view> pair;
  };

  // A row that is an object with nothing but texts, the usual case; nothing for every other line.
  std::optional<Texts> parse_fast(const Item& item, Worker& w) const {
    simdjson::dom::object row;
    Texts texts;
    bool found = false;
    if (w.parser.parse(item.text).get(row)) return std::nullopt;
    for (const auto [key, value] : row) {
      std::string_view text;
      if (value.get(text) || (key == key_ && found)) return std::nullopt;
      if (key == key_) texts.text = text, found = true;
      if (key == settings_.text_pair) texts.pair = text;
    }
    return found ? std::optional(texts) : std::nullopt;
  }

  Result<Texts> parse(const Item& item, Worker& w) const {
    if (!item.is_json) return Texts{item.text, item.pair};
    if (const auto texts = parse_fast(item, w)) return *texts;
    Texts texts;
    std::vector<std::string> columns;
    Row row;
    HONE_TRY(json_row(item.text, settings_.input == "-" ? "standard input" : settings_.input,
                      item.line, 1, columns, row));
    std::string* text = nullptr;
    for (size_t i = 0; i < columns.size(); ++i) {
      auto* cell = std::get_if<std::string>(&row.cells[i]);
      if (columns[i] == key_) text = cell;
      if (columns[i] == settings_.text_pair && cell != nullptr)
        texts.pair = w.pair = std::move(*cell);
    }
    if (text == nullptr)
      return Error(err::kRowWithoutText,
                   fmt::format("the row has no text under '{}'; its keys are: {}", key_,
                               join(columns, ", ")))
          .at(place(item))
          .todo("write rows as {\"text\": \"...\"}, or name the key with --text_column_name");
    texts.text = w.text = std::move(*text);
    return texts;
  }

  // The numbers from 0 on, each with a comma: seven characters at most, how many in the highest
  // byte.
  static std::vector<uint64_t> spell(size_t count) {
    std::vector<uint64_t> all(count);
    for (size_t n = 0; n < count; ++n) {
      char text[8] = {};
      char* const end = std::to_chars(text, text + 6, n).ptr;
      *end = ',';
      std::memcpy(&all[n], text, 7);
      all[n] |= static_cast<uint64_t>(end + 1 - text) << 56;
    }
    return all;
  }

  void append_numbers(std::string_view head, std::span<const int32_t> numbers,
                      std::string& out) const {
    constexpr size_t kDigits = 11;  // of a number, and a comma; a small one writes as many bytes
    const size_t before = out.size();
    out.resize(before + head.size() + numbers.size() * kDigits + kDigits);
    char* p = std::copy(head.begin(), head.end(), out.data() + before);
    for (const int32_t number : numbers) {
      if (static_cast<uint32_t>(number) < spelled_.size()) {
        const uint64_t text = spelled_[static_cast<uint32_t>(number)];
        std::memcpy(p, &text, 8);
        p += text >> 56;
        continue;
      }
      p = std::to_chars(p, p + kDigits, number).ptr;
      *p++ = ',';
    }
    if (!numbers.empty()) --p;
    *p++ = ']';
    out.resize(static_cast<size_t>(p - out.data()));
  }
  void append(std::span<const int32_t> ids, std::string& out) const {
    append_numbers("{\"ids\":[", ids, out);
    out += "}\n";
  }
  void append(const Encoding& row, std::string& out) const {
    append_numbers("{\"ids\":[", row.ids, out);
    append_numbers(",\"token_type_ids\":[", row.type_ids, out);
    out += "}\n";
  }

  template <class Encode>
  static Status encode_into_chunk(std::string& chunk, Worker& w, const Encode& encode) {
    w.lines.swap(chunk);  // which keeps its memory so
    w.lines.clear();
    const Status done = encode(w);
    w.lines.swap(chunk);
    return done;
  }

  bool plain() const {
    return truncate_.strategy == Truncation::do_not_truncate && !settings_.return_token_type_ids;
  }

  Status encode_into(const Item& item, Worker& w) const {
    const Texts texts = HONE_TRY(parse(item, w));
    if (!texts.pair && plain()) {
      w.row.ids.clear();
      tokenizer_.encode_to(texts.text, w.row.ids, options_);
      append(w.row.ids, w.lines);
      return Ok{};
    }
    const Status done = tokenizer_.encode_to(texts.text, texts.pair, w.row, options_, truncate_);
    if (!done.ok()) return Error(done.error()).at(place(item));
    if (texts.pair || settings_.return_token_type_ids)
      append(w.row, w.lines);
    else
      append(w.row.ids, w.lines);
    return Ok{};
  }

  // One long text: its pieces are spread over the threads.
  Status encode_alone(const Item& item, Worker& w) {
    const Texts texts = HONE_TRY(parse(item, w));
    if (texts.pair || !plain()) return encode_into(item, w);
    append(tokenizer_.encode_batch(std::span(&texts.text, 1), &pool_, options_)[0], w.lines);
    return Ok{};
  }

  const TokenizeSettings& settings_;
  Tokenizer tokenizer_;
  ThreadPool pool_;
  std::vector<Worker> workers_;  // one for each thread
  std::vector<uint64_t> spelled_;
  EncodeOptions options_;
  TruncateOptions truncate_;
  std::string key_;
};

Result<int> run_tokenize(const std::vector<std::string>& args) {
  TokenizeSettings s;
  Schema schema("hone tokenize", "turn rows of text into token ids");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;

  Encoder encoder(s, HONE_TRY(open_tokenizer(s.model_name_or_path, open_options(s))));
  const std::unique_ptr<Input> input = HONE_TRY(open_input(s));
  std::unique_ptr<Writer> file;
  if (s.output != "-") file = HONE_TRY(file_store().create(s.output));

  std::vector<std::string> chunks, before;  // lines of this batch, and of the one before it
  const auto print = [&](const std::vector<std::string>& all) -> Status {
    for (const std::string& lines : all) {
      if (file)
        HONE_TRY(file->write(lines));
      else
        print_out(lines);
    }
    return Ok{};
  };

  std::vector<Item> batch(1), coming(1);  // the first item of the coming batch is there
  size_t rows = 0;
  bool more = HONE_TRY(input->next(coming[0]));
  // A text as large as a batch comes alone; the first item of the next one waits at the end.
  const auto read = [&]() -> Status {
    rows = 0;
    for (size_t bytes = 0; more && rows < kBatchRows &&
                           (rows == 0 || bytes + coming[rows].text.size() <= kBatchBytes);) {
      bytes += coming[rows].text.size();
      if (++rows == coming.size()) coming.emplace_back();
      more = HONE_TRY(input->next(coming[rows]));
    }
    return Ok{};
  };
  HONE_TRY(read());
  while (rows > 0) {
    const size_t count = rows;
    batch.swap(coming);
    std::swap(coming[0], batch[count]);
    Status printed = Ok{}, was_read = Ok{};
    const Status done = encoder.encode(std::span(batch).first(count), chunks, [&] {
      printed = print(before);
      was_read = read();
    });
    HONE_TRY(printed);
    std::swap(chunks, before);
    if (!done.ok() || !was_read.ok()) {
      HONE_TRY(print(before));
      return done.ok() ? was_read.error() : done.error();
    }
  }
  HONE_TRY(print(before));
  if (file) HONE_TRY(file->commit());
  return kExitDone;
}

}  // namespace

Command command_tokenize() {
  return {.name = "tokenize", .summary = "turn rows of text into token ids", .run = run_tokenize};
}

}  // namespace hone
