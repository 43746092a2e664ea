// Internal: turns the names of data sets in another program's settings file into hone's settings for data.
#pragma once

#include "learn/configs/block.h"

namespace hone {

// Whether `name` is a data file: it exists as a file, is a URL other than hf://, or has the ending of a data file. Any
// other name is a data set of the hub or a folder.
bool is_data_file(const std::string& name);

// A data set that the settings file names.
struct NamedData {
  std::string name;
  std::string key;  // where the file has it, as a JSON pointer below the block: "datasets/0"
  // Configuration, revision and split of the data set, as the file gives them: split "train[:10%]". "": not given.
  std::string config = {}, revision = {}, split = {};
};
// Sets train_file, or dataset_name with dataset_config_name and dataset_revision. Also sets the limit on the number of
// rows that a split such as "train[:10%]" stands for. Adds H2442 for a split other than train, train[:N] and
// train[:N%]. If there are several data sets, all must be files and no split other than train may be given; else adds
// H2442.
void set_train_data(const ConfigBlock& file, const std::vector<NamedData>& data);

}  // namespace hone
