// Finds the files of a data set by its name, by the rules of load_dataset(name, config, revision) in Hugging Face
// datasets 5.2. open() downloads only README.md and the list of files; files() downloads the files of a split.
//
//   Dataset d = HONE_TRY(Dataset::open({.name = "wikitext", .config = "wikitext-2-raw-v1"}));
//   std::vector<std::string> paths = HONE_TRY(d.files("train"));
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/store/hub_repository.h"
#include "learn/datasets/card.h"

namespace hone {

struct DatasetRequest {
  // A local folder or file; the URL of a file (http, https, or hf://datasets/org/name/path/to/file); or a data set of
  // the Hugging Face Hub: name, org/name or hf://datasets/org/name, each optionally followed by @revision.
  std::string name;
  // The configuration; "" or "default": the default one (choose_config in card.h).
  std::string config = {};
  HubOptions hub = {};    // hub.revision: branch, tag or commit of the data set
  bool archives = false;  // true: also accept tar archives of WebDataset, for image tasks
};

class Dataset {
 public:
  // Finds the data set. If a data set of the Hub is made by a script, or has a format that hone does not read, uses
  // the Hub's conversion to parquet (branch refs/convert/parquet). Errors: H2801 no such configuration; H2803
  // README.md is not understood; H2804 the data set needs a script and has no conversion; H2805 it has no files that
  // hone reads; H2806 a file that README.md or a URL names does not exist; those of hub_repository.h.
  static Result<Dataset> open(const DatasetRequest& request);

  // The name of the data set. For a data set of the Hub that was renamed, its current name.
  const std::string& name() const { return name_; }
  // "" if the data set has only one configuration.
  const std::string& config() const { return config_; }
  std::vector<std::string> splits() const;
  bool has(const std::string& split) const;
  // The local paths of a split's files in the order of the rows. Downloads files that are not in the cache. Errors:
  // H2802 there is no such split; those of hub_repository.h.
  Result<std::vector<std::string>> files(const std::string& split);
  // The class names in README.md. The data files may have more class names (RowReader::label_names).
  const LabelNames& labels() const { return labels_; }
  // Sentences for the summary of the run.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Status open_folder(const DatasetRequest& request);
  Status open_hub(const DatasetRequest& request);
  Status open_parquet_branch(const DatasetRequest& request, const std::string& why);
  Status choose(const DatasetCard& card, const std::vector<std::string>& all,
                const DatasetRequest& request, std::string& format);

  std::string name_, config_, folder_;
  SplitFiles splits_;  // paths relative to folder_ or to the repository
  LabelNames labels_;
  std::map<std::string, LabelNames> all_labels_;  // class names of the card, by configuration
  std::vector<std::string> notes_;
  std::unique_ptr<HubRepository> repo_;
};

}  // namespace hone
