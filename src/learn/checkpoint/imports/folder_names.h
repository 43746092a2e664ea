// Helpers for reading checkpoint folders of other programs: names of files, and trainer_state.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "base/store/store.h"

namespace hone {

struct FolderNames {
  std::vector<std::string> files, folders;  // names without the path, sorted
  bool has_file(std::string_view name) const;
  bool has_folder(std::string_view name) const;
};

// The names in a folder; no names if the path is not a folder. Errors: those of the store.
Result<FolderNames> names_of(const std::string& path, Store& store);

// Some files hold the name of a folder beside them: DeepSpeed's file `latest` names the folder of the newest step.
// Returns the path of the folder that the file <path>/<file> names; "": there is no such file. H2214: the file does not
// name an existing folder beside it.
Result<std::string> named_folder(const std::string& path, const std::string& file, Store& store);

// The numbers in `name`, in order, if it has the form `form`, in which each * stands for a number:
// "zero_pp_rank_*_mp_rank_*_optim_states.pt". Empty: `name` has another form.
std::vector<int64_t> numbers_in_name(std::string_view name, std::string_view form);

// The contents of trainer_state.json in the folder `path`. above: if the file is not there, also looks in the folder
// that contains `path`. Null: there is no such file. H0001: the file is not JSON. Errors of the store.
Result<Json> trainer_state_at(const std::string& path, bool above, Store& store);

// "global_step" of a trainer_state.json; `otherwise` if it is absent or not a whole number.
int64_t steps_of_trainer_state(const Json& state, int64_t otherwise);

}  // namespace hone
