// A data set by name, as load_dataset(name, config, revision) of Hugging Face datasets 5.2 finds
// its files. Nothing is fetched but README.md until the files of a split are asked for.
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
  // A folder or file of this machine, an http(s) or hf://datasets/org/name/file address, or a name
  // of the hub: name, org/name, hf://datasets/org/name, each also with @revision.
  std::string name;
  std::string config = {};  // "" or "default": none
  HubOptions hub = {};      // hub.revision: branch, tag or commit of the data set
  bool archives = false;    // tar archives of WebDataset are read too: by tasks of images
};

class Dataset {
 public:
  // A data set of the hub that is made by a script, or whose format hone does not read, comes from
  // the hub's own conversion (branch refs/convert/parquet). Errors: H2801 to H2806, those of
  // hub_repository.h.
  static Result<Dataset> open(const DatasetRequest& request);

  const std::string& name() const { return name_; }      // as the hub calls it now
  const std::string& config() const { return config_; }  // "" when there is but one
  std::vector<std::string> splits() const;
  bool has(const std::string& split) const;
  // Local paths in the order of the rows, fetched when they are not there. Errors: H2802.
  Result<std::vector<std::string>> files(const std::string& split);
  // From README.md; files may know more (RowReader::label_names).
  const LabelNames& labels() const { return labels_; }
  const std::vector<std::string>& notes() const { return notes_; }  // for the summary of the run

 private:
  Status open_folder(const DatasetRequest& request);
  Status open_hub(const DatasetRequest& request);
  Status open_parquet_branch(const DatasetRequest& request, const std::string& why);
  Status choose(const DatasetCard& card, const std::vector<std::string>& all,
                const DatasetRequest& request, std::string& format);

  std::string name_, config_, folder_;
  SplitFiles splits_;  // relative to folder_ or the repository
  LabelNames labels_;
  std::map<std::string, LabelNames> all_labels_;  // of the card, by configuration
  std::vector<std::string> notes_;
  std::unique_ptr<HubRepository> repo_;
};

}  // namespace hone
