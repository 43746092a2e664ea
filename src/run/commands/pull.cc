// hone pull MODEL DATASET --to DIR: what a run needs from elsewhere, in one folder.
#include <set>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hub.h"
#include "base/store/places/transfer.h"
#include "base/store/store.h"
#include "learn/datasets/dataset.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

struct PullSettings {
#define HONE_SETTINGS "run/commands/pull.def"
#include "base/settings/fields.inc"
};

bool is_object_url(const std::string& name) {
  return name.find("://") != std::string::npos && !name.starts_with("hf://") &&
         !name.starts_with("http://") && !name.starts_with("https://");
}

// Files of a training run that a model does not need.
bool is_of_training(const std::string& file) {
  for (const char* begin : {"optimizer", "scheduler", "rng_state", "training_args", "trainer_state",
                            "hone_log", "hone_run", "hone_manifest", "."})
    if (file.starts_with(begin)) return true;
  return file.find('/') != std::string::npos;  // checkpoints beside the model
}

// `fill` writes into a folder that then appears under its name.
Status appear(const std::string& folder, const std::function<Status(const std::string&)>& fill) {
  Store& store = file_store();
  const std::string part = folder + ".part";
  HONE_TRY(store.remove_all(part));
  HONE_TRY(store.make_dirs(part));
  HONE_TRY(fill(part));
  HONE_TRY(store.remove_all(folder));
  return store.rename(part, folder);
}

Status pull_model(const PullSettings& s, const std::string& to) {
  Store& store = file_store();
  ResolveOptions options;
  options.revision = s.model_revision;
  options.cache_dir = s.cache_dir;
  options.token = s.token;
  const std::string from =
      is_object_url(s.model) ? s.model : HONE_TRY(resolve_model(s.model, options));
  return appear(to, [&](const std::string& part) -> Status {
    int64_t bytes = 0;
    for (const TransferFile& f : HONE_TRY(files_below(store, from))) {
      if (is_of_training(f.path)) continue;
      const std::string name = f.path.empty() ? last_part(from) : f.path;
      bytes += HONE_TRY(
          copy_file(store, f.path.empty() ? from : from + "/" + f.path, part + "/" + name));
    }
    log_info("{:<11} {}: {}", "model", s.model, format_bytes(bytes));
    return Ok{};
  });
}

class TextColumns {
 public:
  explicit TextColumns(const PullSettings& s)
      : joined_(s.text_columns.begin(), s.text_columns.end()),
        first_(s.first_text_columns.begin(), s.first_text_columns.end()) {}
  bool any() const { return !joined_.empty() || !first_.empty(); }

  // A row with texts in the place of lists.
  void change(OrderedJson& row) {
    if (!row.is_object()) return;
    for (const auto* columns : {&joined_, &first_})
      for (const std::string& column : *columns) {
        const auto at = row.find(column);
        if (at == row.end() || !at->is_array() || at->empty()) continue;
        std::vector<std::string> texts;
        for (const OrderedJson& text : *at)
          if (text.is_string()) texts.push_back(text.get<std::string>());
        if (texts.size() != at->size()) continue;  // training says what is wrong with it
        *at = columns == &joined_ ? join(texts, " ") : texts[0];
        ++changed_[column];
      }
  }
  void tell() const {
    for (const auto& [column, rows] : changed_)
      log_info("{:<11} column '{}' holds lists of texts in {} rows: {}", "data", column, rows,
               joined_.contains(column) ? "they are joined" : "the first of each is taken");
  }

 private:
  std::set<std::string> joined_, first_;
  std::map<std::string, int64_t> changed_;
};

// Line by line, so that a file of any size passes.
Status copy_lines(const std::string& from, const std::string& to, TextColumns& columns) {
  constexpr int64_t kBlock = 4 << 20;
  Store& store = file_store();
  auto reader = HONE_TRY(store.open(from));
  auto writer = HONE_TRY(store.create(to));
  std::string rest;
  int64_t line = 0;
  const auto put = [&](std::string_view text) -> Status {
    ++line;
    if (trim(text).empty()) return Ok{};
    OrderedJson row = HONE_TRY(parse_ordered_json(text, fmt::format("{}:{}", from, line)));
    columns.change(row);
    return writer->write(dump_json(row) + "\n");
  };
  for (int64_t at = 0; at < reader->bytes();) {
    std::string block(static_cast<size_t>(std::min(kBlock, reader->bytes() - at)), '\0');
    HONE_TRY(reader->read(at, std::as_writable_bytes(std::span(block))));
    at += static_cast<int64_t>(block.size());
    rest += block;
    size_t begin = 0;
    for (size_t end; (end = rest.find('\n', begin)) != std::string::npos; begin = end + 1)
      HONE_TRY(put(std::string_view(rest).substr(begin, end - begin)));
    rest.erase(0, begin);
  }
  if (!rest.empty()) HONE_TRY(put(rest));
  return writer->commit();
}

Status copy_data_file(const std::string& from, const std::string& to, TextColumns& columns) {
  const std::string name = to_lower(to);
  if (columns.any() && name.ends_with(".jsonl")) return copy_lines(from, to, columns);
  if (columns.any() && name.ends_with(".json")) {
    const std::string text = HONE_TRY(file_store().read(from));
    auto rows = parse_ordered_json(text, from);
    if (!rows.ok()) return copy_lines(from, to, columns);  // an object a line
    if (rows->is_array())
      for (OrderedJson& row : *rows) columns.change(row);
    return file_store().write(to, dump_json(*rows) + "\n");
  }
  HONE_TRY(copy_file(file_store(), from, to));
  return Ok{};
}

Status pull_data(const PullSettings& s, const std::string& to) {
  Store& store = file_store();
  std::string from = s.dataset;
  const std::string source = to + ".source";
  HONE_TRY(store.remove_all(source));
  if (is_object_url(from)) {
    const bool folder = HONE_TRY(store.info(from)).folder;
    HONE_TRY(store.make_dirs(source));
    if (folder)
      HONE_TRY(sync_folder(store, from, source, true));
    else
      HONE_TRY(copy_file(store, from, source + "/" + last_part(from)));
    from = folder ? source : source + "/" + last_part(from);
  }
  DatasetRequest request{.name = from, .config = s.dataset_config_name, .hub = {}};
  request.hub.revision = s.dataset_revision;
  request.hub.cache_dir = s.cache_dir;
  request.hub.token = s.token;
  Dataset dataset = HONE_TRY(Dataset::open(request));
  for (const std::string& note : dataset.notes()) log_info("{:<11} {}", "data", note);
  TextColumns columns(s);
  HONE_TRY(appear(to, [&](const std::string& part) -> Status {
    std::vector<std::string> copied;
    for (const std::string& split : dataset.splits()) {
      const std::vector<std::string> files = HONE_TRY(dataset.files(split));
      for (size_t i = 0; i < files.size(); ++i) {
        // The name that Hugging Face datasets finds the split by; the ending says the format.
        const std::string name = last_part(files[i]);
        const size_t dot = name.find('.');
        const std::string ending = dot == std::string::npos ? "" : name.substr(dot);
        HONE_TRY(copy_data_file(
            files[i], fmt::format("{}/{}-{:05}-of-{:05}{}", part, split, i, files.size(), ending),
            columns));
      }
      copied.push_back(
          fmt::format("{} ({} file{})", split, files.size(), files.size() == 1 ? "" : "s"));
    }
    log_info("{:<11} {}: {}", "data", s.dataset, join(copied, ", "));
    return Ok{};
  }));
  columns.tell();
  return store.remove_all(source);
}

Result<int> run_pull(const std::vector<std::string>& given) {
  std::vector<std::string> args = given, flags;
  if (const auto end = std::find(args.begin(), args.end(), "--"); end != args.end()) {
    flags.assign(end + 1, args.end());
    args.erase(end, args.end());
  }
  PullSettings s;
  Schema schema("hone pull", "bring a model, a data set and its shards into one folder");
  s.bind(schema);
  for (const char* name : {"model", "dataset"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.prepare.empty() && !flags.empty())
    return Error(err::kMissingArgument,
                 "flags after -- are for hone prepare, and --prepare is missing")
        .at(flags[0])
        .todo("add --prepare TASK");
  const std::string to = without_end_slash(s.to);
  HONE_TRY(file_store().make_dirs(to));
  HONE_TRY(pull_model(s, to + "/model"));
  if (!s.dataset.empty()) HONE_TRY(pull_data(s, to + "/data"));
  if (s.prepare.empty()) return kExitDone;
  std::vector<std::string> words = {"--task",       s.prepare,        "--model_name_or_path",
                                    to + "/model",  "--dataset_name", to + "/data",
                                    "--output_dir", to + "/shards"};
  words.insert(words.end(), flags.begin(), flags.end());
  return run_command_named("prepare", words);
}

}  // namespace

Command command_pull() {
  return {.name = "pull",
          .summary = "bring a model, a data set and its shards into one folder",
          .run = run_pull};
}

}  // namespace hone
