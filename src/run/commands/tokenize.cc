// hone tokenize: rows of text in, one line {"ids":[...]} out for each, in order. Memory is that of
// one batch, whatever the size of the input.
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

struct Item {
  std::string text;  // a line of jsonl, until parse() has made it the text
  std::optional<std::string> pair;
  int64_t line = 0;
  bool is_json = false;
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
      item = {};
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
    const auto pair = std::find(columns.begin(), columns.end(), "text_pair");
    if (pair != columns.end()) input->pair_ = static_cast<size_t>(pair - columns.begin());
    return std::unique_ptr<Input>(std::move(input));
  }
  Result<bool> next(Item& item) override {
    if (!HONE_TRY(rows_->next(row_))) return false;
    item = {};
    item.text = HONE_TRY(cell_text(row_, column_, name_.empty() ? "text" : name_));
    if (pair_) item.pair = HONE_TRY(cell_text(row_, *pair_, "text_pair"));
    item.line = row_.line;
    return true;
  }

 private:
  std::unique_ptr<RowReader> rows_;
  std::string name_;
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

class Encoder {
 public:
  Encoder(const TokenizeSettings& s, Tokenizer tokenizer)
      : settings_(s),
        tokenizer_(std::move(tokenizer)),
        pool_(s.threads > 0 ? static_cast<int>(s.threads) : ThreadPool::default_size()),
        options_{.add_special_tokens = s.add_special_tokens,
                 .split_special_tokens = s.split_special_tokens},
        key_(s.text_column_name.empty() ? "text" : s.text_column_name) {}

  // Appends the lines of the batch to `out`.
  Status encode(std::vector<Item>& batch, std::string& out) {
    if (batch.size() == 1) return encode_alone(batch[0], out);
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
    std::vector<std::string> lines(threads);
    std::vector<Status> done(threads, Ok{});
    pool_.run([&](int thread) {
      const auto k = static_cast<size_t>(thread);
      for (size_t i = first[k]; i < first[k + 1] && done[k].ok(); ++i)
        done[k] = encode_into(batch[i], lines[k]);
    });
    for (size_t k = 0; k < threads; ++k) {
      if (!done[k].ok()) return done[k];
      out += lines[k];
    }
    return Ok{};
  }

 private:
  std::string place(const Item& item) const {
    return fmt::format("{}:{}", settings_.input == "-" ? "standard input" : settings_.input,
                       item.line);
  }

  Status parse(Item& item) const {
    if (!item.is_json) return Ok{};
    std::vector<std::string> columns;
    Row row;
    HONE_TRY(json_row(item.text, settings_.input == "-" ? "standard input" : settings_.input,
                      item.line, 1, columns, row));
    std::string* text = nullptr;
    for (size_t i = 0; i < columns.size(); ++i) {
      auto* cell = std::get_if<std::string>(&row.cells[i]);
      if (columns[i] == key_) text = cell;
      if (columns[i] == "text_pair" && cell != nullptr) item.pair = std::move(*cell);
    }
    if (text == nullptr)
      return Error(err::kRowWithoutText,
                   fmt::format("the row has no text under '{}'; its keys are: {}", key_,
                               fmt::join(columns, ", ")))
          .at(place(item))
          .todo("write rows as {\"text\": \"...\"}, or name the key with --text_column_name");
    item.text = std::move(*text);
    return Ok{};
  }

  static void append(std::span<const int32_t> ids, std::string& out) {
    out += "{\"ids\":[";
    char digits[16];
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i > 0) out += ',';
      out.append(digits, std::to_chars(digits, digits + sizeof digits, ids[i]).ptr);
    }
    out += "]}\n";
  }

  Status encode_into(Item& item, std::string& out) const {
    HONE_TRY(parse(item));
    if (item.pair)
      append(tokenizer_.encode_pair(item.text, *item.pair, options_).ids, out);
    else
      append(tokenizer_.encode(item.text, options_), out);
    return Ok{};
  }

  // One long text: its pieces are spread over the threads.
  Status encode_alone(Item& item, std::string& out) {
    HONE_TRY(parse(item));
    if (item.pair) return encode_into(item, out);
    const std::string_view text = item.text;
    append(tokenizer_.encode_batch(std::span(&text, 1), &pool_, options_)[0], out);
    return Ok{};
  }

  const TokenizeSettings& settings_;
  Tokenizer tokenizer_;
  ThreadPool pool_;
  EncodeOptions options_;
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

  std::vector<Item> batch;
  std::string out;
  Item item;
  bool more = HONE_TRY(input->next(item));
  while (more) {
    size_t bytes = 0;
    batch.clear();
    // A text as large as a batch comes alone.
    while (more && batch.size() < kBatchRows &&
           (batch.empty() || bytes + item.text.size() <= kBatchBytes)) {
      bytes += item.text.size();
      batch.push_back(std::move(item));
      more = HONE_TRY(input->next(item));
    }
    out.clear();
    HONE_TRY(encoder.encode(batch, out));
    if (file)
      HONE_TRY(file->write(out));
    else
      print_out(out);
  }
  if (file) HONE_TRY(file->commit());
  return kExitDone;
}

}  // namespace

Command command_tokenize() {
  return {.name = "tokenize", .summary = "turn rows of text into token ids", .run = run_tokenize};
}

}  // namespace hone
