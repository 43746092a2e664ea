// hone pull MODEL DATASET --to DIR: what a run needs from elsewhere, in one folder.
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/settings/flag_names.h"
#include "base/store/errors.h"
#include "base/store/hub.h"
#include "base/store/new_folders.h"
#include "base/store/places/transfer.h"
#include "base/store/store.h"
#include "learn/datasets/dataset.h"
#include "learn/files/copy_data_file.h"
#include "operate/monitor/origin.h"
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
  const NewFolders made(part);
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

// A folder or file of an object store, brought into the folder `to`; its path there.
Result<std::string> fetch_objects(const std::string& url, const std::string& to) {
  Store& store = file_store();
  const bool folder = HONE_TRY(store.info(url)).folder;
  HONE_TRY(store.make_dirs(to));
  if (folder) {
    const TransferResult copied = HONE_TRY(sync_folder(store, url, to, true));
    if (!copied.not_files.empty()) return left_out(url, copied.not_files);
    return to;
  }
  const std::string file = to + "/" + last_part(url);
  HONE_TRY(copy_file(store, url, file));
  return file;
}

// Whether the copy of a file of this machine has its rows in the same lines.
bool keeps_lines(const std::string& file, const TextColumns& columns) {
  return path_exists(file) && !(columns.any() && to_lower(file).ends_with(".json"));
}

// Fills `own_files` with the names of the data's files of this machine.
Status pull_data(const PullSettings& s, const std::string& to,
                 std::map<std::string, std::string>& own_files) {
  const std::string source = to + ".source";
  HONE_TRY(file_store().remove_all(source));
  const std::string from =
      is_object_url(s.dataset) ? HONE_TRY(fetch_objects(s.dataset, source)) : s.dataset;
  DatasetRequest request{.name = from, .config = s.dataset_config_name, .hub = {}};
  request.hub.revision = s.dataset_revision;
  request.hub.cache_dir = s.cache_dir;
  request.hub.token = s.token;
  Dataset dataset = HONE_TRY(Dataset::open(request));
  for (const std::string& note : dataset.notes()) log_info("{:<11} {}", "data", note);
  TextColumns columns(s.text_columns, s.first_text_columns);
  const bool is_own = from == s.dataset && path_exists(from);
  HONE_TRY(appear(to, [&](const std::string& part) -> Status {
    std::vector<std::string> copied;
    for (const std::string& split : dataset.splits()) {
      const std::vector<std::string> files = HONE_TRY(dataset.files(split));
      for (size_t i = 0; i < files.size(); ++i) {
        // The name that Hugging Face datasets finds the split by; the ending says the format.
        const std::string name = last_part(files[i]);
        const size_t dot = name.find('.');
        const std::string ending = dot == std::string::npos ? "" : name.substr(dot);
        const std::string copy = fmt::format("{}-{:05}-of-{:05}{}", split, i, files.size(), ending);
        HONE_TRY(copy_data_file(files[i], part + "/" + copy, columns));
        if (is_own && keeps_lines(files[i], columns)) own_files[copy] = files[i];
      }
      copied.push_back(
          fmt::format("{} ({} file{})", split, files.size(), files.size() == 1 ? "" : "s"));
    }
    log_info("{:<11} {}: {}", "data", s.dataset, join(copied, ", "));
    return Ok{};
  }));
  for (const TextColumns::Changed& c : columns.changed())
    log_info("{:<11} column '{}' holds lists of texts in {} rows: {}", "data", c.column, c.rows,
             c.joined ? "they are joined" : "the first of each is taken");
  return file_store().remove_all(source);
}

// The names that the model and the data have where they come from.
PulledNames origin_of(const PullSettings& s, std::map<std::string, std::string> own_files) {
  PulledNames origin{.model = redact_text(model_name_of(s.model)), .files = std::move(own_files)};
  if (s.dataset.empty()) return origin;
  origin.dataset = redact_text(data_name_of(s.dataset));
  if (!s.dataset_config_name.empty()) origin.dataset += " " + s.dataset_config_name;
  return origin;
}

Result<int> run_pull(const std::vector<std::string>& given) {
  std::vector<std::string> args = given, flags;
  if (const auto end = std::find(args.begin(), args.end(), "--"); end != args.end()) {
    flags.assign(end + 1, args.end());
    args.erase(end, args.end());
  }
  PullSettings s;
  Schema schema("hone pull", "copy a model, a data set and its shards into one folder");
  s.bind(schema);
  for (const char* name : {"model", "dataset"}) schema.positional(name);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  if (s.prepare.empty() && !flags.empty())
    return Error(err::kMissingArgument,
                 "flags after -- are for hone prepare, and --prepare is missing")
        .at(flags[0])
        .todo("add --prepare TASK");
  const std::string to = without_end_slash(s.to);
  const NewFolders made(to);
  HONE_TRY(file_store().make_dirs(to));
  HONE_TRY(pull_model(s, to + "/model"));
  std::map<std::string, std::string> own_files;
  if (!s.dataset.empty())
    if (const Status data = pull_data(s, to + "/data", own_files); !data.ok())
      return with_flags(schema, data.error());
  HONE_TRY(write_origin(to, origin_of(s, std::move(own_files))));
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
          .summary = "copy a model, a data set and its shards into one folder",
          .in = CommandGroup::kOperate,
          .run = run_pull};
}

}  // namespace hone
