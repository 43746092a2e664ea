// The checkpoints of an output folder: finding, rotating, cleaning up.
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/core/text.h"
#include "learn/checkpoint/checkpoint_files.h"
#include "learn/checkpoint/training_checkpoint.h"

namespace hone {
namespace {

constexpr std::string_view kPrefix = "checkpoint-";

// "checkpoint-12.old-345" -> {"checkpoint-12", "old"}; two empty views for other names.
std::pair<std::string_view, std::string_view> leftover(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || step_of_checkpoint_name(name.substr(0, dot)) < 0) return {};
  const std::string_view tail = name.substr(dot + 1);
  const size_t dash = tail.find('-');
  const std::string_view kind = tail.substr(0, dash);
  if (dash == std::string_view::npos ||
      (kind != "tmp" && kind != "new" && kind != "old" && kind != "del"))
    return {};
  return {name.substr(0, dot), kind};
}

}  // namespace

int64_t step_of_checkpoint_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  int64_t step = -1;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), step);
  return ec == std::errc() && end == name.data() + name.size() && step >= 0 ? step : -1;
}

bool is_checkpoint_leftover(std::string_view name) { return !leftover(name).first.empty(); }

Result<std::vector<CheckpointInfo>> find_checkpoints(const std::string& output_dir, Store& store) {
  std::vector<CheckpointInfo> found;
  if (!HONE_TRY(store.info(output_dir)).folder) return found;
  for (const Store::Entry& e : HONE_TRY(store.list(output_dir))) {
    if (!e.folder || step_of_checkpoint_name(e.name) < 0) continue;
    auto info = inspect_checkpoint(output_dir + "/" + e.name, store);
    if (info.ok())
      found.push_back(std::move(*info));
    else if (!info.error().is_answer())
      return std::move(info.error());
  }
  std::sort(found.begin(), found.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) { return a.step > b.step; });
  return found;
}

// In a bucket, file by file: the manifest first, so that no part of it counts, the mark last.
static Status delete_in_place(const std::string& path, Store& store) {
  if (!HONE_TRY(store.exists(path))) return Ok{};
  const std::string mark = path + "/" + kUnfinishedFile, manifest = path + "/" + kManifestFile;
  HONE_TRY(store.write(mark, "{}\n"));
  if (HONE_TRY(store.exists(manifest))) HONE_TRY(store.remove(manifest));
  for (const Store::Entry& e : HONE_TRY(store.list(path)))
    if (e.name != kUnfinishedFile) HONE_TRY(store.remove_all(path + "/" + e.name));
  return store.remove(mark);
}

Status replace_checkpoint(const std::string& from, const std::string& to, Store& store) {
  HONE_TRY(delete_in_place(to, store));
  HONE_TRY(store.write(to + "/" + kUnfinishedFile, "{}\n"));
  for (const Store::Entry& e : HONE_TRY(checkpoint_files(from, store)))
    if (e.name != kManifestFile && e.name != kUnfinishedFile)
      HONE_TRY(store.copy(from + "/" + e.name, to + "/" + e.name));
  HONE_TRY(store.copy(from + "/" + kManifestFile, to + "/" + kManifestFile));
  HONE_TRY(store.remove(to + "/" + kUnfinishedFile));
  return delete_in_place(from, store);
}

Status delete_checkpoint(const std::string& path, Store& store) {
  if (!store.renames_folders_at_once(path)) return delete_in_place(path, store);
  const std::string doomed = fmt::format("{}.del-{}", path, ::getpid());
  HONE_TRY(store.remove_all(doomed));
  HONE_TRY(store.rename(path, doomed));
  return store.remove_all(doomed);
}

Result<std::vector<std::string>> rotate_checkpoints(const std::string& output_dir,
                                                    const RotateOptions& options, Store& store) {
  std::vector<std::string> deleted;
  if (options.save_total_limit <= 0) return deleted;
  std::vector<CheckpointInfo> own = HONE_TRY(find_checkpoints(output_dir, store));
  std::erase_if(own, [](const CheckpointInfo& c) { return !c.by_hone; });

  // The newest that is known to be good; it and all that are newer stay.
  size_t good = 0;
  const auto is_one = [](const std::string& named, const CheckpointInfo& c) {
    return !named.empty() && last_part(named) == last_part(c.path);
  };
  const auto is_good = [&](const CheckpointInfo& c) {
    return is_one(options.trusted, c) || verify_checkpoint(c.path, store).ok();
  };
  if (static_cast<int64_t>(own.size()) <= options.save_total_limit) return deleted;
  while (good < own.size() && !is_good(own[good])) ++good;

  size_t left = own.size();
  for (size_t i = own.size();
       i-- > good + 1 && static_cast<int64_t>(left) > options.save_total_limit;) {
    // The one just written may be older than others: the run continued from before them.
    if (is_one(options.best, own[i]) || is_one(options.trusted, own[i])) continue;
    HONE_TRY(delete_checkpoint(own[i].path, store));
    deleted.push_back(own[i].path);
    --left;
  }
  return deleted;
}

Result<std::vector<std::string>> clean_leftovers(const std::string& output_dir, Store& store) {
  std::vector<std::string> done;
  if (!HONE_TRY(store.info(output_dir)).folder) return done;
  for (const Store::Entry& e : HONE_TRY(store.list(output_dir))) {
    const auto [name, kind] = leftover(e.name);
    const std::string path = output_dir + "/" + e.name;
    if (e.folder && step_of_checkpoint_name(e.name) >= 0 &&
        HONE_TRY(store.exists(path + "/" + kUnfinishedFile))) {
      if (HONE_TRY(store.exists(path + "/" + kManifestFile))) {
        HONE_TRY(store.remove(path + "/" + kUnfinishedFile));  // it was committed just before
      } else {
        HONE_TRY(delete_checkpoint(path, store));
        done.push_back(path);
      }
      continue;
    }
    if (name.empty()) continue;
    const std::string original = fmt::format("{}/{}", output_dir, name);
    // Whole before its predecessor went, so it takes its place whatever is there now.
    if (kind == "new" && HONE_TRY(store.exists(path + "/" + kManifestFile))) {
      HONE_TRY(replace_checkpoint(path, original, store));
      done.push_back(path);
      continue;
    }
    const bool came_back = kind == "old" && !HONE_TRY(store.exists(original));
    HONE_TRY(came_back ? store.rename(path, original) : store.remove_all(path));
    done.push_back(path);
  }
  return done;
}

}  // namespace hone
