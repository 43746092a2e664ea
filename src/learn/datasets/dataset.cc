#include "learn/datasets/dataset.h"

#include <algorithm>
#include <filesystem>

#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/hub.h"
#include "base/store/store.h"
#include "learn/data/rows/dataset_folder.h"
#include "learn/data/rows/files.h"
#include "learn/datasets/errors.h"
#include "learn/datasets/fetch.h"

namespace hone {
namespace {

Error unreadable_set(const std::string& name, const std::string& why, const std::string& what) {
  return Error(err::kDatasetScript, fmt::format("'{}' cannot be read: {}, and {}", name, why, what))
      .todo(
          "look on the hub for a copy as parquet or jsonl files, or make one with `datasets` "
          "3.6 in Python: load_dataset(...)['train'].to_parquet('train.parquet'), then "
          "`train_file` train.parquet");
}

bool reads_format(const std::string& format, const DatasetRequest& request) {
  return hone_reads(format) || (request.archives && format == "webdataset");
}

namespace fs = std::filesystem;

constexpr const char* kParquetBranch = "refs/convert/parquet";

// All files below a folder, by relative path. Linked folders are not entered.
Result<std::vector<std::string>> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  fs::recursive_directory_iterator it(folder, failed), end;
  for (; !failed && it != end; it.increment(failed)) {
    std::error_code ignored;
    if (it->path().filename() == ".git") it.disable_recursion_pending();
    if (it->is_regular_file(ignored))
      files.push_back(it->path().lexically_relative(folder).generic_string());
  }
  if (failed) {
    return Error(err::kDatasetEmpty,
                 fmt::format("the folder '{}' cannot be read: {}", folder, failed.message()))
        .todo("check its permissions");
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> without_prefix(const std::vector<std::string>& files,
                                        const std::string& prefix) {
  std::vector<std::string> out;
  for (const std::string& f : files) {
    if (f.starts_with(prefix)) out.push_back(f.substr(prefix.size()));
  }
  return out;
}

// The files of each split; splits that have none are left out.
Result<SplitFiles> expand(const SplitPatterns& patterns, const std::vector<std::string>& all,
                          const std::string& prefix, const std::string& dataset) {
  const std::vector<std::string> inner = without_prefix(all, prefix);
  SplitFiles splits;
  for (const auto& [split, globs] : patterns) {
    std::vector<std::string> files;
    for (const std::string& glob : globs) {
      std::vector<std::string> found = HONE_TRY(matching_files(glob, inner));
      if (found.empty() && glob.find_first_of("*?[") == std::string::npos) {
        const std::string near = nearest_name(glob, inner);
        return Error(err::kDatasetPattern,
                     fmt::format("'{}' has no data file '{}', which its README.md names for split "
                                 "'{}'",
                                 dataset, prefix + glob, split))
            .todo(near.empty() ? "correct the header, or give the files by `train_file`"
                               : fmt::format("did they mean '{}'?", near));
      }
      // Two globs that name a file read it twice, as in `datasets`.
      for (const std::string& f : found) files.push_back(prefix + f);
    }
    if (!files.empty()) splits.push_back({split, std::move(files)});
  }
  return splits;
}

// The format that all splits have; "" when none has one, H2805 when they differ.
Result<std::string> format_of(const SplitFiles& splits, const std::string& dataset) {
  std::string format;
  for (const auto& [split, files] : splits) {
    const std::string own = common_format(files);
    if (!format.empty() && own != format) {
      return Error(err::kDatasetEmpty,
                   fmt::format("'{}': the files of split '{}' are {}, those of '{}' {}", dataset,
                               splits[0].first, format, split, own.empty() ? "of no format" : own))
          .todo("give the files themselves: `train_file` and `validation_file`");
    }
    format = own;
  }
  return format;
}

Error nothing_to_read(const std::string& dataset, const std::string& format) {
  return Error(err::kDatasetEmpty,
               format.empty()
                   ? fmt::format("'{}' has no data files", dataset)
                   : fmt::format("'{}' holds {} data, which hone does not read", dataset, format))
      .todo("data files are csv, tsv, json, jsonl, parquet, arrow or txt");
}

}  // namespace

std::vector<std::string> Dataset::splits() const {
  std::vector<std::string> names;
  for (const auto& [split, files] : splits_) names.push_back(split);
  return names;
}
bool Dataset::has(const std::string& split) const {
  return std::any_of(splits_.begin(), splits_.end(),
                     [&](const auto& entry) { return entry.first == split; });
}

Result<std::vector<std::string>> Dataset::files(const std::string& split) {
  for (const auto& [name, files] : splits_) {
    if (name != split) continue;
    std::vector<std::string> paths;
    for (const std::string& file : files) {
      if (repo_)
        paths.push_back(HONE_TRY(repo_->file(file)));
      else
        paths.push_back(folder_.empty() ? file : (fs::path(folder_) / file).generic_string());
    }
    return paths;
  }
  const std::vector<std::string> have = splits();
  const std::string near = nearest_name(split, have);
  return Error(err::kDatasetSplit,
               fmt::format("'{}'{} has no split '{}'", name_,
                           config_.empty() ? "" : fmt::format(" ({})", config_), split))
      .todo(fmt::format("{}its splits are {}; {} files of a data set too, as "
                        "hf://datasets/org/name/path",
                        near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                        join(have, ", "),
                        split.starts_with("test") ? "`test_file` takes"
                                                  : "`train_file` and `validation_file` take"));
}

// From a card and all file names to splits_; `format` is that of the files, "" for none.
Status Dataset::choose(const DatasetCard& card, const std::vector<std::string>& all,
                       const DatasetRequest& request, std::string& format) {
  const DatasetConfig* config = HONE_TRY(choose_config(card, request.config, name_));
  std::string prefix;
  if (config) {
    config_ = card.configs.size() > 1 ? config->name : "";
    prefix = config->data_dir;
    while (prefix.starts_with("./")) prefix.erase(0, 2);
    while (prefix.ends_with('/')) prefix.pop_back();
    if (!prefix.empty()) prefix += '/';
    labels_ = config->labels;
    if (!config->not_used.empty()) {
      notes_.push_back(fmt::format("{}: README.md sets {} for '{}', which hone does not use", name_,
                                   join(config->not_used, ", "), config->name));
    }
  } else if (const auto labels =
                 card.labels.find(card.labels.size() == 1 ? card.labels.begin()->first : "default");
             labels != card.labels.end()) {
    labels_ = labels->second;
  }
  const SplitPatterns patterns = config && config->data_files
                                     ? *config->data_files
                                     : HONE_TRY(default_patterns(without_prefix(all, prefix)));
  splits_ = HONE_TRY(expand(patterns, all, prefix, name_));
  format = HONE_TRY(format_of(splits_, name_));
  if (!(config && config->data_files)) {
    for (auto& [split, files] : splits_)
      std::erase_if(files, [&](const std::string& f) { return !is_of_format(f, format); });
  }
  return Ok{};
}

Status Dataset::open_folder(const DatasetRequest& request) {
  if (is_dataset_folder(request.name)) {  // of save_to_disk
    if (!request.config.empty() && request.config != "default")
      return no_such_config(request.name, request.config, {});
    std::vector<std::string> names = HONE_TRY(dataset_splits(request.name));
    if (names.empty()) names = {"train"};
    for (const std::string& split : names) {
      auto files = HONE_TRY(dataset_files(request.name, split));
      splits_.push_back({split, std::move(files)});
    }
    return Ok{};
  }
  folder_ = request.name;
  const std::vector<std::string> all = HONE_TRY(files_below(folder_));
  DatasetCard card;
  if (std::binary_search(all.begin(), all.end(), "README.md")) {
    const std::string path = (fs::path(folder_) / "README.md").generic_string();
    card = HONE_TRY(parse_card(HONE_TRY(file_store().read(path)), path));
  }
  std::string format;
  HONE_TRY(choose(card, all, request, format));
  if (!reads_format(format, request)) return nothing_to_read(name_, format);
  return Ok{};
}

Status Dataset::open_hub(const DatasetRequest& request) {
  repo_ = std::make_unique<HubRepository>(
      HONE_TRY(HubRepository::open(HubKind::kDataset, request.name, request.hub)));
  HONE_TRY(repo_->remember());
  name_ = repo_->hub_id();
  if (name_ != repo_->id())
    notes_.push_back(fmt::format("'{}' is called {} on the hub now", repo_->id(), name_));
  for (const std::string& id : {repo_->id(), name_}) {
    if (const std::string script = last_part(id) + ".py"; repo_->has(script))
      return open_parquet_branch(request, fmt::format("it is made by a script ({})", script));
  }
  DatasetCard card;
  if (repo_->has("README.md")) {
    card = HONE_TRY(parse_card(HONE_TRY(file_store().read(HONE_TRY(repo_->file("README.md")))),
                               fmt::format("README.md of '{}'", name_)));
  }
  std::string format;
  HONE_TRY(choose(card, repo_->files(), request, format));
  if (reads_format(format, request)) return Ok{};
  if (format.empty()) return nothing_to_read(name_, format);
  all_labels_ = std::move(card.labels);
  return open_parquet_branch(request, fmt::format("its own files are {}", format));
}

// <config>/<split>/0000.parquet; <config>/partial-<split>/... where the hub converted but the
// beginning.
Status Dataset::open_parquet_branch(const DatasetRequest& request, const std::string& why) {
  const auto refuse = [&](const std::string& what) { return unreadable_set(name_, why, what); };
  if (repo_->revision() != "main")
    return refuse(fmt::format("the hub converts only revision main, not '{}'", repo_->revision()));
  HubOptions hub = request.hub;
  hub.revision = kParquetBranch;
  Result<HubRepository> branch = HubRepository::open(HubKind::kDataset, repo_->id(), hub);
  if (!branch.ok() && branch.error().is(err::kHubMissing))
    return refuse(fmt::format("the hub has no conversion of it (branch {})", kParquetBranch));
  repo_ = std::make_unique<HubRepository>(HONE_TRY(std::move(branch)));
  HONE_TRY(repo_->remember());

  std::vector<std::string> configs;
  for (const std::string& file : repo_->files()) {
    const std::vector<std::string> parts = split(file, '/');
    if (parts.size() != 3 || !file.ends_with(".parquet")) continue;
    if (configs.empty() || configs.back() != parts[0]) configs.push_back(parts[0]);
  }
  auto have = [&](const std::string& c) {
    return std::find(configs.begin(), configs.end(), c) != configs.end();
  };
  if (have(request.config))
    config_ = request.config;
  else if (!request.config.empty() && request.config != "default")
    return no_such_config(name_, request.config, configs);
  else if (configs.size() == 1)
    config_ = configs[0];
  else if (have("default"))
    config_ = "default";
  else if (!configs.empty())
    return no_such_config(name_, "", configs);
  if (all_labels_.contains(config_)) labels_ = all_labels_[config_];

  splits_.clear();
  for (const std::string& file : repo_->files()) {
    const std::vector<std::string> parts = split(file, '/');
    if (parts.size() != 3 || parts[0] != config_ || !file.ends_with(".parquet")) continue;
    if (parts[1].starts_with("partial-"))
      return refuse(fmt::format("the hub converted only the beginning of '{}'", config_));
    if (splits_.empty() || splits_.back().first != parts[1]) splits_.push_back({parts[1], {}});
    splits_.back().second.push_back(file);
  }
  if (splits_.empty()) return refuse("the hub's conversion of it is empty");
  // train, validation, test, then the others by name.
  constexpr std::string_view kFirst[] = {"train", "validation", "test"};
  std::stable_sort(splits_.begin(), splits_.end(), [&](const auto& a, const auto& b) {
    auto rank = [&](const std::string& s) {
      return std::find(std::begin(kFirst), std::end(kFirst), s) - std::begin(kFirst);
    };
    return rank(a.first) < rank(b.first);
  });
  notes_.push_back(fmt::format("{}: {}; the hub's conversion to parquet is taken", name_, why));
  if (configs.size() == 1) config_.clear();
  return Ok{};
}

Result<Dataset> Dataset::open(const DatasetRequest& request) {
  Dataset d;
  d.name_ = request.name;
  const bool address = is_data_address(request.name);
  if (address || (!request.name.starts_with("hf://") && is_file(request.name))) {
    std::vector<std::string> files = {request.name};
    if (address) files = HONE_TRY(fetch_data_files(files, request.hub));
    if (!request.config.empty() && request.config != "default")
      return no_such_config(request.name, request.config, {});
    d.splits_.push_back({"train", std::move(files)});
    return d;
  }
  if (!request.name.starts_with("hf://") && is_folder(request.name)) {
    HONE_TRY(d.open_folder(request));
    return d;
  }
  const std::string& name = request.name;
  if (names_data_file(name)) HONE_TRY(expand_files(std::vector{name}));  // says that it is missing
  if (name.starts_with("/") || name.starts_with("./") || name.starts_with("../") ||
      name.starts_with("~")) {
    return Error(err::kDatasetEmpty, fmt::format("there is no file or folder '{}'", name))
        .at(fmt::format("`dataset_name` {}", name))
        .todo("check the path; relative paths start at the folder you are in");
  }
  if (Status opened = d.open_hub(request); !opened.ok()) {
    // A misspelt path leads here if there is no network.
    if (opened.error().is(err::kNetwork) && !name.starts_with("hf://"))
      opened.error().at(taken_from_hub(name, HubKind::kDataset));
    return std::move(opened.error());
  }
  return d;
}

}  // namespace hone
