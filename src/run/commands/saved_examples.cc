#include "run/commands/saved_examples.h"

#include <algorithm>
#include <filesystem>

#include "base/core/hash.h"
#include "base/core/log.h"
#include "base/core/redact.h"
#include "base/core/text.h"
#include "base/store/hash.h"
#include "base/store/store.h"
#include "learn/data/rows/files.h"
#include "learn/data/shards/shards.h"
#include "operate/pipeline/published.h"
#include "operate/registry/evaluation.h"
#include "operate/registry/model_hash.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"
#include "run/commands/slice_columns.h"

namespace hone {
namespace {

Error cannot_save(const std::string& what, const std::string& todo) {
  return Error(err::kSavedExamples, what).at("--save_examples").todo(todo);
}

// Files of rows below a folder that hone prepare or others have written, those of validation where their
// paths say which they are; not the manifests beside them, which hold times and places.
Status add_row_files(const std::string& folder, std::vector<std::string>& files) {
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder))) {
    const std::string path = folder + "/" + e.name;
    if (e.folder)
      HONE_TRY(add_row_files(path, files));
    else if (!e.name.ends_with(".json"))
      files.push_back(path);
  }
  return Ok{};
}

// The files of rows below a folder: those of its validation split, if any have that name.
Result<std::vector<std::string>> files_of_folder(const std::string& folder) {
  std::vector<std::string> below;
  HONE_TRY(add_row_files(without_end_slash(folder), below));
  const auto is_other = [&](const std::string& f) {
    return f.find("validation", folder.size()) == std::string::npos;
  };
  if (!std::all_of(below.begin(), below.end(), is_other)) std::erase_if(below, is_other);
  return below;
}

// The files that a setting names: their folders, globs and paths.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& setting,
                                          const std::string& split) {
  std::vector<std::string> files;
  for (const std::string& given : setting) {
    const std::string pattern[] = {given};
    const auto more = is_folder(given) ? HONE_TRY(files_of_folder(given))
                                       : HONE_TRY(expand_files(pattern, split));
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

// Names and sizes of the files below a folder: its content without reading it.
Status add_listing(const std::string& folder, const std::string& below, std::string& to) {
  for (const Store::Entry& e : HONE_TRY(file_store().list(folder + below))) {
    const std::string path = below + "/" + e.name;
    if (e.folder)
      HONE_TRY(add_listing(folder, path, to));
    else
      to += fmt::format("{}\t{}\n", path, e.bytes);
  }
  return Ok{};
}

// The source of evaluated rows if no files of validation are given: a data set, or the files of training, of which some
// rows are kept for validation.
Result<std::string> split_content(const ChosenTask& chosen) {
  const TaskSettings& s = *chosen.task->settings;
  const OrderedJson settings = chosen.schema.dump();
  std::string content = s.dataset_name;
  if (is_file(s.dataset_name)) content = HONE_TRY(hash_files({s.dataset_name}));
  if (is_folder(s.dataset_name))
    content = HONE_TRY(hash_files(HONE_TRY(files_of_folder(s.dataset_name))));
  content += text_at(settings, "task_name");
  if (!s.train_file.empty())
    content += HONE_TRY(hash_files(HONE_TRY(files_of(s.train_file, "train"))));
  if (const std::string images = text_at(settings, "train_dir"); !images.empty())
    HONE_TRY(add_listing(without_end_slash(images), "", content));
  return content;
}

// Files of validation, and those that say what their rows have to find.
Result<std::vector<std::string>> evaluated_files(const ChosenTask& chosen) {
  std::vector<std::string> files =
      HONE_TRY(files_of(chosen.task->settings->validation_file, "validation"));
  const OrderedJson settings = chosen.schema.dump();
  for (const char* name : {"corpus_file", "qrels_file"})
    if (const auto given = settings.find(name); given != settings.end()) {
      const auto more = HONE_TRY(files_of(given->get<std::vector<std::string>>(), "validation"));
      files.insert(files.end(), more.begin(), more.end());
    }
  return files;
}

// The folder of token shards that rows are read from; "": none.
std::string shards_of(const TaskSettings& s) {
  for (const auto* files : {&s.validation_file, &s.train_file})
    if (files->size() == 1 && is_shard_folder(files->front())) return files->front();
  return "";
}

// Hashes the files that token shards were made from: their rows are the same rows for every tokenizer.
Result<std::string> hash_of_sources(const std::string& shards) {
  const ShardManifest made = HONE_TRY(read_shard_manifest(shards));
  std::vector<std::string> own, training;
  for (const OrderedJson& source : made.sources) {
    const std::string split = text_at(source, "split");
    if (split.starts_with("validation")) own.push_back(text_at(source, "sha256"));
    if (split == "train") training.push_back(text_at(source, "sha256"));
  }
  if (!own.empty()) return hash_of_sums(own);
  training.push_back(dump_json(value_at(made.settings, "validation_split_percentage")));
  return hash_of_sums(training);
}

// Hashes the evaluated files; else also how rows are split.
Result<std::string> data_hash(const ChosenTask& chosen) {
  const TaskSettings& s = *chosen.task->settings;
  if (const std::string shards = shards_of(s); !shards.empty() && s.dataset_name.empty())
    return hash_of_sources(shards);
  if (!s.validation_file.empty()) return hash_files(HONE_TRY(evaluated_files(chosen)));
  // A folder with a validation split of its own: the rows are those of these files, however they are named.
  if (is_folder(s.dataset_name))
    if (const auto files = HONE_TRY(files_of_folder(s.dataset_name));
        !files.empty() &&
        files.front().find("validation", s.dataset_name.size()) != files.front().npos)
      return hash_files(files);
  if (const std::string images = text_at(chosen.schema.dump(), "validation_dir"); !images.empty())
    return hash_files(HONE_TRY(files_of_folder(images)));
  const std::string content = HONE_TRY(split_content(chosen));
  const std::string seeds =
      s.data_seed ? fmt::format("{} {}", *s.data_seed, s.seed) : fmt::format("{}", s.seed);
  return "sha256:" +
         sha256_of_text(fmt::format("{}\n{}\n{}\n{}\n{}", content, s.dataset_config_name,
                                    s.dataset_revision, s.validation_split_percentage, seeds));
}

}  // namespace

Status check_saved_examples(const ChosenTask& chosen,
                            const std::vector<std::string>& slice_columns) {
  const TaskSettings& s = *chosen.task->settings;
  if (s.output_dir.empty())
    return cannot_save("there is no folder for the rows", "name one with --output_dir");
  if (s.streaming) return cannot_save("rows of a stream are not kept", "leave --streaming out");
  if (!slice_columns.empty() && s.validation_file.empty() && s.train_file.empty())
    return cannot_save(
        "there is no validation_file whose columns could be read",
        "name the file of the rows with --validation_file, or leave --slice_columns out");
  return check_slice_columns(chosen, slice_columns);
}

Status save_examples(const ChosenTask& chosen, const TaskRun& run, const ExampleScores& scores,
                     const std::vector<std::string>& slice_columns) {
  const TaskSettings& s = *chosen.task->settings;
  const std::string data = HONE_TRY(data_hash(chosen));
  // Rows that are cut out of a text are other rows for another tokenizer or length.
  std::string prefix = data.substr(data.find(':') + 1, 12);
  if (chosen.task->text && run.examples().eval)
    prefix += fmt::format("-{:016x}", run.examples().eval->axes[0].hash());
  const std::vector<OrderedJson> slices = HONE_TRY(
      read_slices(*chosen.task, slice_columns, run.examples().eval->axes[0], scores.rows().size()));
  std::string lines;
  for (size_t i = 0; i < scores.rows().size(); ++i) {
    OrderedJson row = scores.rows()[i].is_object() ? scores.rows()[i] : OrderedJson::object();
    OrderedJson line = {{"id", fmt::format("{}-{}", prefix, row.value(kExampleNumber, i))}};
    row.erase(kExampleNumber);
    line.update(row);
    if (!slices.empty()) line["slices"] = slices[i];
    lines += dump_json(line) + "\n";
  }
  OrderedJson settings = published_places(chosen.schema.dump());
  const OrderedJson told = {{"hone", version()},
                            {"task", chosen.task->name},
                            {"model", published_place(s.model_name_or_path)},
                            {"folder", std::filesystem::current_path().string()},
                            {"data", data},
                            {"examples", scores.rows().size()},
                            {"settings", redact_secrets(std::move(settings))}};
  HONE_TRY(file_store().write(s.output_dir + "/" + kEvaluationRunFile,
                              dump_json(told, {.indent = 2}) + "\n"));
  HONE_TRY(file_store().write(s.output_dir + "/" + kExamplesFile, lines));
  log_info("{:<11} {} rows in {}/{}", "saved", scores.rows().size(), s.output_dir, kExamplesFile);
  return Ok{};
}

}  // namespace hone
