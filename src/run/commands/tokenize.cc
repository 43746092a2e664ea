// hone tokenize: rows of text in, one line {"ids":[...]} out for each, in order; of a pair
// {"ids":[...],"token_type_ids":[...]}. Memory is that of one batch, whatever the size of the
// input.
#include <simdjson.h>

#include <charconv>

#include "base/core/json.h"
#include "base/store/store.h"
#include "learn/data/files.h"
#include "learn/data/formats/json_rows.h"
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

// Where rows come from. next() gives false behind the last one.
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
        options_{.add_special_tokens = s.add_special_tokens,
                 .split_special_tokens = s.split_special_tokens},
        truncate_(truncate_options(s, tokenizer_)),
        key_(s.text_column_name.empty() ? "text" : s.text_column_name) {}

  // Hands the lines of the batch to `print` in order.
  Status encode(std::span<const Item> batch, FunctionRef<Status(std::string_view)> print) {
    for (Worker& w : workers_) w.lines.clear();
    if (batch.size() == 1) {
      HONE_TRY(encode_alone(batch[0], workers_[0]));
      return print(workers_[0].lines);
    }
    // Contiguous shares of about equal bytes, so that the lines come out in order.
    size_t total = 0;
    for (const Item& i : batch) total += i.text.size() + 64;
    const auto threads = static_cast<size_t>(pool_.size());
    std::vector<size_t> first(threads + 1, batch.size());
    size_t seen = 0, t = 0;
    for (size_t i = 0; i < batch.size(); ++i) {
      while (t < threads && seen * threads >= total * t) first[t++] = i;
      seen += batch[i].text.size() + 64;
    }
    std::vector<Status> done(threads, Ok{});
    pool_.run([&](int thread) {
      const auto k = static_cast<size_t>(thread);
      for (size_t i = first[k]; i < first[k + 1] && done[k].ok(); ++i)
        done[k] = encode_into(batch[i], workers_[k]);
    });
    for (size_t k = 0; k < threads; ++k) {
      if (!done[k].ok()) return done[k];
      HONE_TRY(print(workers_[k].lines));
    }
    return Ok{};
  }

 private:
  std::string place(const Item& item) const {
    return fmt::format("{}:{}", settings_.input == "-" ? "standard input" : settings_.input,
                       item.line);
  }

  // What one thread keeps from row to row. Views of a row live until its next one.
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
                               fmt::join(columns, ", ")))
          .at(place(item))
          .todo("write rows as {\"text\": \"...\"}, or name the key with --text_column_name");
    texts.text = w.text = std::move(*text);
    return texts;
  }

  static void append_numbers(std::string_view head, std::span<const int32_t> numbers,
                             std::string& out) {
    constexpr size_t kDigits = 11;  // of a number, and a comma
    const size_t before = out.size();
    out.resize(before + head.size() + numbers.size() * kDigits + 1);
    char* p = std::copy(head.begin(), head.end(), out.data() + before);
    for (const int32_t number : numbers) {
      p = std::to_chars(p, p + kDigits, number).ptr;
      *p++ = ',';
    }
    if (!numbers.empty()) --p;
    *p++ = ']';
    out.resize(static_cast<size_t>(p - out.data()));
  }
  static void append(std::span<const int32_t> ids, std::string& out) {
    append_numbers("{\"ids\":[", ids, out);
    out += "}\n";
  }
  static void append(const Encoding& row, std::string& out) {
    append_numbers("{\"ids\":[", row.ids, out);
    append_numbers(",\"token_type_ids\":[", row.type_ids, out);
    out += "}\n";
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
  EncodeOptions options_;
  TruncateOptions truncate_;
  std::string key_;
};

Result<int> run_tokenize(const std::vector<std::string>& args) {
  TokenizeSettings s;
  Schema schema("hone tokenize", "turn rows of text into token ids");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;

  OpenOptions options;
  options.revision = s.model_revision;
  options.cache_dir = s.cache_dir;
  options.token = s.token;
  Encoder encoder(s, HONE_TRY(open_tokenizer(s.model_name_or_path, options)));
  const std::unique_ptr<Input> input = HONE_TRY(open_input(s));
  std::unique_ptr<Writer> file;
  if (s.output != "-") file = HONE_TRY(file_store().create(s.output));

  const auto print = [&](std::string_view lines) -> Status {
    if (file) return file->write(lines);
    print_out(lines);
    return Ok{};
  };

  std::vector<Item> batch(1);
  bool more = HONE_TRY(input->next(batch[0]));
  while (more) {
    // A text as large as a batch comes alone; the first item of the next batch waits at the end.
    size_t rows = 0, bytes = 0;
    while (more && rows < kBatchRows &&
           (rows == 0 || bytes + batch[rows].text.size() <= kBatchBytes)) {
      bytes += batch[rows].text.size();
      if (++rows == batch.size()) batch.emplace_back();
      more = HONE_TRY(input->next(batch[rows]));
    }
    HONE_TRY(encoder.encode(std::span(batch).first(rows), print));
    std::swap(batch[0], batch[rows]);
  }
  if (file) HONE_TRY(file->commit());
  return kExitDone;
}

}  // namespace

Command command_tokenize() {
  return {.name = "tokenize", .summary = "turn rows of text into token ids", .run = run_tokenize};
}

}  // namespace hone
