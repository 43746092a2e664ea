// Folders that the `datasets` library writes with save_to_disk:
//
//   Dataset       state.json (names the data files), dataset_info.json, data-00000-of-00002.arrow
//   ... DatasetDict   dataset_dict.json ({"splits": ["train", "test"]}) and a Dataset folder per
//   split
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

bool is_dataset_folder(const std::string& path);

// The splits of a DatasetDict, in its order; none for a single Dataset. Errors: H2131.
Result<std::vector<std::string>> dataset_splits(const std::string& folder);

// The data files of split `split` of a DatasetDict, or of a Dataset, whatever its split is.
// Errors: H2131 (no such split, a file that is missing, rows chosen by an indices file).
Result<std::vector<std::string>> dataset_files(const std::string& folder, const std::string& split);

// The texts of dataset_dict.json and state.json; `name` appears in messages.
Result<std::vector<std::string>> splits_of_text(std::string_view text, const std::string& name);
Result<std::vector<std::string>> files_of_text(std::string_view text, const std::string& name);

}  // namespace hone
