// Reads folders that Hugging Face's `datasets` library writes with save_to_disk:
//
//   Dataset      state.json (names the data files), dataset_info.json, data-00000-of-00002.arrow, ...
//   DatasetDict  dataset_dict.json ({"splits": ["train", "test"]}), and a Dataset folder for each split
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

// True for a folder that has dataset_dict.json or state.json.
bool is_dataset_folder(const std::string& path);

// The names of the splits of a DatasetDict, in the order of its file; empty for a Dataset. Errors: H2131
// dataset_dict.json has no list of names; those of reading it.
Result<std::vector<std::string>> dataset_splits(const std::string& folder);

// The paths of the data files of a split of a DatasetDict. For a Dataset, which has one split, `split` is ignored.
// Errors: H2131 there is no such split; a file is missing; or the folder has an indices file, which chooses some of the
// rows (versions of the library before 2.0 write one).
Result<std::vector<std::string>> dataset_files(const std::string& folder, const std::string& split);

// splits_of_text returns the names of the splits from the text of a dataset_dict.json. files_of_text returns the names
// of the data files from the text of a state.json. `name` is the file in messages. Errors: H2131 the text is not such a
// file, or a state.json names an indices file.
Result<std::vector<std::string>> splits_of_text(std::string_view text, const std::string& name);
Result<std::vector<std::string>> files_of_text(std::string_view text, const std::string& name);

}  // namespace hone
