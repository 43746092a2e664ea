#include "learn/harness/data_flags.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/shards/shards.h"
#include "learn/datasets/fetch.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
const Names kTrainFiles{"train.tsv", "msr_paraphrase_train.txt", "train"};

// The first of `names` that is a file of the folder.
Result<std::string> one_of(const std::string& folder, const Names& names) {
  for (const std::string& name : names) {
    const fs::path path = fs::path(folder) / name;
    if (is_file(path)) return path.string();
  }
  return Error(err::kDataMissing, fmt::format("'{}' has no {}", folder, join(names, ", no ")))
      .at("--data_dir " + folder)
      .todo(
          "the folder is one of GLUE's download; other files are named by --train_file and "
          "--validation_file");
}

Status from_folder(const LabelSourceRequest& r, LabelSources& out) {
  if (r.want_train) out.train = {HONE_TRY(one_of(r.data_dir, kTrainFiles))};
  const bool mnli = r.task && r.task->name == "mnli";
  if (r.want_test && mnli) {
    out.test = {HONE_TRY(one_of(r.data_dir, {"test_matched.tsv"}))};
    out.test_mismatched = {HONE_TRY(one_of(r.data_dir, {"test_mismatched.tsv"}))};
  } else if (r.want_test) {
    out.test = {HONE_TRY(one_of(r.data_dir, {"test.tsv", "msr_paraphrase_test.txt", "test"}))};
  }
  const fs::path dev_ids = fs::path(r.data_dir) / "dev_ids";
  if (r.task && r.task->name == "mrpc" && is_file(dev_ids) &&
      !one_of(r.data_dir, {"dev.tsv"}).ok()) {
    out.dev_ids = dev_ids.string();
    if (r.want_validation) out.validation = {HONE_TRY(one_of(r.data_dir, kTrainFiles))};
    return Ok{};
  }
  if (!r.want_validation) return Ok{};
  if (mnli) {
    out.validation = {HONE_TRY(one_of(r.data_dir, {"dev_matched.tsv"}))};
    out.mismatched = {HONE_TRY(one_of(r.data_dir, {"dev_mismatched.tsv"}))};
  } else {
    out.validation = {HONE_TRY(one_of(r.data_dir, {"dev.tsv", "msr_paraphrase_test.txt", "dev"}))};
  }
  return Ok{};
}

Status from_dataset(const DatasetRequest& wanted, const LabelSourceRequest& r, LabelSources& out) {
  Dataset dataset = HONE_TRY(Dataset::open(wanted));
  out.labels = dataset.labels();
  out.notes.insert(out.notes.end(), dataset.notes().begin(), dataset.notes().end());
  out.notes.push_back(
      fmt::format("{}{}: splits {}", dataset.name(),
                  dataset.config().empty() ? "" : fmt::format(" ({})", dataset.config()),
                  join(dataset.splits(), ", ")));
  // `split`, or its two halves.
  const auto take = [&](const std::string& split, std::vector<std::string>& matched,
                        std::vector<std::string>& mismatched) -> Status {
    const bool halves = !dataset.has(split) && dataset.has(split + "_matched");
    matched = HONE_TRY(dataset.files(halves ? split + "_matched" : split));
    if (halves && dataset.has(split + "_mismatched"))
      mismatched = HONE_TRY(dataset.files(split + "_mismatched"));
    return Ok{};
  };
  if (r.want_train) out.train = HONE_TRY(dataset.files("train"));
  const bool validates = dataset.has("validation") || dataset.has("validation_matched");
  if (r.want_validation && (validates || !r.want_train))
    HONE_TRY(take("validation", out.validation, out.mismatched));
  if (r.want_test) HONE_TRY(take("test", out.test, out.test_mismatched));
  return Ok{};
}

// A folder of prepared shards has all splits.
Status from_shards(const LabelSourceRequest& r, LabelSources& out) {
  for (const std::vector<std::string>* named : {&r.train_file, &r.validation_file, &r.test_file}) {
    if (named->size() != 1 || !is_shard_folder(named->front())) continue;
    const ShardManifest manifest = HONE_TRY(read_shard_manifest(named->front()));
    const auto take = [&](bool wanted, const char* split, std::vector<std::string>& files) {
      const bool there = find_split(manifest, split, "").ok();
      if (wanted && files.empty() && there) files = *named;
    };
    const auto is_of = [&](const std::vector<std::string>& files) { return files == *named; };
    if (r.want_validation && out.validation.empty()) out.validation = *named;
    take(r.want_validation && is_of(out.validation), "validation_mismatched", out.mismatched);
    take(r.want_test, "test", out.test);
    take(r.want_test && is_of(out.test), "test_mismatched", out.test_mismatched);
  }
  return Ok{};
}

}  // namespace

Result<LabelSources> find_label_sources(const LabelSourceRequest& r) {
  LabelSources out;
  DatasetRequest dataset = r.dataset;
  const bool files = !r.train_file.empty() || !r.validation_file.empty() || !r.test_file.empty();
  if (dataset.name.empty() && !files && r.data_dir.empty() && r.task) {
    dataset.name = "nyu-mll/glue";
    dataset.config = r.task->name;
  }
  if (!dataset.name.empty()) {
    if (files)
      out.notes.push_back(fmt::format(
          "--train_file and --validation_file are not read: --dataset_name {} takes precedence",
          dataset.name));
    HONE_TRY(from_dataset(dataset, r, out));
    return out;
  }
  if (!files && !r.data_dir.empty()) {
    HONE_TRY(from_folder(r, out));
    return out;
  }
  // The rows of an evaluation without a file are a share of the training rows.
  const bool splits = r.want_validation && r.validation_file.empty();
  if (r.want_train || splits) out.train = HONE_TRY(fetch_data_files(r.train_file, dataset.hub));
  if (r.want_validation) {
    out.validation = HONE_TRY(fetch_data_files(r.validation_file, dataset.hub));
    out.mismatched = HONE_TRY(fetch_data_files(r.mismatched_file, dataset.hub));
  }
  if (r.want_test) out.test = HONE_TRY(fetch_data_files(r.test_file, dataset.hub));
  HONE_TRY(from_shards(r, out));
  if (r.want_test) {
    if (out.test.empty())
      return Error(err::kDataMissing, "there is nothing to predict: there is no --test_file")
          .todo(r.want_train || r.want_validation ? "give --test_file, or leave --do_predict out"
                                                  : "give the rows to predict by --test_file");
  }
  if ((r.want_train && out.train.empty()) ||
      (r.want_validation && out.validation.empty() && out.train.empty()))
    return Error(err::kDataMissing, r.want_train
                                        ? "training needs data: there is no --train_file"
                                        : "evaluation needs data: there is no --validation_file")
        .todo(fmt::format(
            "give --train_file and --validation_file (csv, tsv, json, jsonl, parquet, "
            "arrow or pkl){}",
            r.glue ? ", --dataset_name, or --task_name of a GLUE task" : " or --dataset_name"));
  return out;
}

}  // namespace hone
