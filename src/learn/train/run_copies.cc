#include "learn/train/run_copies.h"

#include <algorithm>

#include "base/core/text.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {
namespace {

constexpr const char* kRunNumber = "run_id";  // in kStateFile

}  // namespace

std::string memory_folder() { return environment("HONE_RUN_MEMORY"); }

int64_t hosts_of_copies(int64_t asked, int64_t there) {
  return std::min(asked == 0 ? int64_t{2} : asked, there);
}

void note_run(Json& state) {
  if (const std::string id = environment("HONE_RUN_ID"); !id.empty()) state[kRunNumber] = id;
}

bool is_of_this_run(const std::string& checkpoint) {
  const std::string id = environment("HONE_RUN_ID");
  const Result<Json> state = read_json_file(checkpoint + "/" + kStateFile);
  return !id.empty() && state.ok() && text_at(*state, kRunNumber) == id;
}

Result<std::string> newest_of_this_run(const std::string& output_dir) {
  for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(output_dir)))
    if (c.resumable && c.by_hone && is_of_this_run(c.path)) return c.path;
  return std::string();
}

}  // namespace hone
