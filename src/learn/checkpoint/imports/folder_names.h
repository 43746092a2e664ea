// Names of files in checkpoint folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "base/store/store.h"

namespace hone {

struct FolderNames {
  std::vector<std::string> files, folders;  // sorted
  bool has_file(std::string_view name) const;
  bool has_folder(std::string_view name) const;
};

// The names in a folder; none if the path is not a folder.
Result<FolderNames> names_of(const std::string& path, Store& store);

// The folder that a file such as `latest` names, if the path has that file; else "". H2214: the file does not
// hold the name of a folder beside it.
Result<std::string> named_folder(const std::string& path, const std::string& file, Store& store);

// Numbers in a name of the form "zero_pp_rank_*_mp_rank_*_optim_states.pt", each * one number; empty: the
// name has another form.
std::vector<int64_t> numbers_in_name(std::string_view name, std::string_view form);

// trainer_state.json of that folder, or, if it has none and `above`, of the folder that holds it; else null.
Result<Json> trainer_state_at(const std::string& path, bool above, Store& store);

// Its "global_step"; `otherwise` if it has none.
int64_t steps_of_trainer_state(const Json& state, int64_t otherwise);

}  // namespace hone
