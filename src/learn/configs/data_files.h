// Internal: names of data in other programs' files as hone's settings of data.
#pragma once

#include "learn/configs/block.h"

namespace hone {

// Whether the name is a file or a URL, by its ending or because the file exists; otherwise it is a data
// set: a name on the hub, or a folder.
bool is_data_file(const std::string& name);

// A name of a data set, and what the file says beside it.
struct NamedData {
  std::string name;
  std::string key;  // of the file, in a pointer below the block
  std::string config = {}, revision = {}, split = {};
};
// Sets train_file, or dataset_name and its companions. H2442 for several data sets that are not files, and for
// splits that hone does not cut.
void set_train_data(const ConfigBlock& file, const std::vector<NamedData>& data);

}  // namespace hone
