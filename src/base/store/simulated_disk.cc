// A disk in memory that forgets what was not synced when its power goes, and fails on demand.
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

#include "base/core/text.h"
#include "base/store/disk.h"

namespace hone {

// The parts of a SimulatedDisk.
namespace simulated {

struct Node {
  bool folder = false;
  std::vector<std::byte> data, synced;                   // of a file
  std::map<std::string, std::shared_ptr<Node>> entries;  // of a folder, as programs see it
  std::map<std::string, std::shared_ptr<Node>> durable;  // as it is after a power loss
};
using NodePtr = std::shared_ptr<Node>;  // a name, its durable twin and open handles share a node

// One change of a folder (two for a rename), durable all at once or not at all.
struct Change {
  struct Step {
    NodePtr folder;
    std::string name;
    NodePtr node;  // null: the name is removed
  };
  std::vector<Step> steps;
  void make_durable() const {
    for (const Step& s : steps) {
      if (s.node)
        s.folder->durable[s.name] = s.node;
      else
        s.folder->durable.erase(s.name);
    }
  }
};

}  // namespace simulated

using simulated::Change, simulated::Node, simulated::NodePtr;

struct SimulatedDisk::State {
  std::mutex mutex;
  NodePtr root = std::make_shared<Node>();
  std::vector<Change> pending;
  struct Handle {
    NodePtr node;
  };
  std::map<int64_t, Handle> handles;
  int64_t next_handle = 3, operations = 0;
  int64_t fail_at = -1, lose_at = -1, capacity = INT64_MAX, longest_write = INT64_MAX, used = 0;
  int fail_code = EIO;
  bool dark = false;

  // Counts an operation: 0, or the fault that is due.
  int64_t step() {
    int64_t n = operations++;
    if (n == lose_at) dark = true;
    if (dark) return -EIO;
    return n == fail_at ? -fail_code : 0;
  }
  static std::vector<std::string> parts(const std::string& path) {
    std::vector<std::string> out;
    for (std::string& p : split(std::filesystem::path(path).lexically_normal().string(), '/')) {
      if (!p.empty() && p != ".") out.push_back(std::move(p));
    }
    return out;
  }
  NodePtr find(const std::vector<std::string>& path, size_t count) const {
    NodePtr at = root;
    for (size_t i = 0; i < count; ++i) {
      auto it = at->entries.find(path[i]);
      if (it == at->entries.end()) return nullptr;
      at = it->second;
    }
    return at;
  }
  NodePtr find(const std::string& path) const {
    std::vector<std::string> p = parts(path);
    return find(p, p.size());
  }
  NodePtr parent(const std::string& path, std::string& name) const {
    std::vector<std::string> p = parts(path);
    if (p.empty()) return nullptr;
    name = p.back();
    NodePtr folder = find(p, p.size() - 1);
    return folder && folder->folder ? folder : nullptr;
  }
  void change(std::vector<Change::Step> steps) {
    for (const Change::Step& s : steps) {
      if (s.node)
        s.folder->entries[s.name] = s.node;
      else
        s.folder->entries.erase(s.name);
    }
    pending.push_back({std::move(steps)});
  }
  void forget(const NodePtr& node, std::mt19937_64& random) {
    if (node->folder) {
      node->entries = node->durable;
      for (auto& [name, child] : node->entries) forget(child, random);
      return;
    }
    if (node->data != node->synced) {
      // Any length between the two, the part that was not synced perhaps still zero.
      size_t a = node->synced.size(), b = node->data.size();
      size_t length = std::min(a, b) + random() % (std::max(a, b) - std::min(a, b) + 1);
      std::vector<std::byte> torn = random() % 2 ? node->data : node->synced;
      torn.resize(length);
      if (random() % 2 && length > 0) {
        size_t from = random() % length;
        if (from >= a || a == 0)
          std::fill(torn.begin() + static_cast<long>(from), torn.end(), std::byte{0});
      }
      node->data = node->synced = torn;
    }
  }
};

SimulatedDisk::SimulatedDisk() : s_(std::make_unique<State>()) { s_->root->folder = true; }
SimulatedDisk::~SimulatedDisk() = default;

void SimulatedDisk::fail_at(int64_t nth, int code) {
  s_->fail_at = s_->operations + nth;
  s_->fail_code = code;
}
void SimulatedDisk::lose_power_at(int64_t nth) { s_->lose_at = s_->operations + nth; }
void SimulatedDisk::set_capacity(int64_t bytes) { s_->capacity = bytes; }
void SimulatedDisk::set_longest_write(int64_t bytes) { s_->longest_write = bytes; }
int64_t SimulatedDisk::operations() const { return s_->operations; }

void SimulatedDisk::power_on(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const Change& c : s_->pending) {
    if (random() % 2) c.make_durable();
  }
  s_->pending.clear();
  s_->handles.clear();
  s_->forget(s_->root, random);
  s_->dark = false;
  s_->lose_at = s_->fail_at = -1;
}

int64_t SimulatedDisk::open(const std::string& path, Open mode) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  std::string name;
  NodePtr node = s_->find(path);
  if (node && node->folder) return -EISDIR;
  if (node && mode == Open::kCreateNew) return -EEXIST;
  if (!node) {
    NodePtr folder = s_->parent(path, name);
    if (mode == Open::kRead || !folder) return -ENOENT;
    node = std::make_shared<Node>();
    s_->change({{folder, name, node}});
  }
  s_->handles[s_->next_handle] = {node};
  return s_->next_handle++;
}
int64_t SimulatedDisk::close(int64_t handle) {
  std::lock_guard lock(s_->mutex);
  return s_->handles.erase(handle) ? 0 : -EBADF;
}
int64_t SimulatedDisk::bytes(int64_t handle) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  auto it = s_->handles.find(handle);
  return it == s_->handles.end() ? -EBADF : static_cast<int64_t>(it->second.node->data.size());
}
int64_t SimulatedDisk::read_at(int64_t handle, int64_t offset, std::span<std::byte> out) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  auto it = s_->handles.find(handle);
  if (it == s_->handles.end()) return -EBADF;
  const std::vector<std::byte>& data = it->second.node->data;
  int64_t left = static_cast<int64_t>(data.size()) - offset;
  int64_t n = std::clamp<int64_t>(left, 0, static_cast<int64_t>(out.size()));
  if (n > 0) std::memcpy(out.data(), data.data() + offset, static_cast<size_t>(n));
  return n;
}
int64_t SimulatedDisk::write(int64_t handle, std::span<const std::byte> in) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  auto it = s_->handles.find(handle);
  if (it == s_->handles.end()) return -EBADF;
  int64_t n = std::min(static_cast<int64_t>(in.size()), s_->longest_write);
  if (s_->used >= s_->capacity && n > 0) return -ENOSPC;
  n = std::min(n, s_->capacity - s_->used);
  s_->used += n;
  std::vector<std::byte>& data = it->second.node->data;
  data.insert(data.end(), in.begin(), in.begin() + n);
  return n;
}
int64_t SimulatedDisk::sync(int64_t handle) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  auto it = s_->handles.find(handle);
  if (it == s_->handles.end()) return -EBADF;
  it->second.node->synced = it->second.node->data;
  return 0;
}
int64_t SimulatedDisk::stat(const std::string& path, Stat& out) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  NodePtr node = s_->find(path);
  if (!node) return -ENOENT;
  out = {node->folder, static_cast<int64_t>(node->data.size())};
  return 0;
}
int64_t SimulatedDisk::list(const std::string& path, std::vector<Entry>& out) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  NodePtr node = s_->find(path);
  if (!node) return -ENOENT;
  if (!node->folder) return -ENOTDIR;
  for (const auto& [name, child] : node->entries) {
    out.push_back({name, child->folder, static_cast<int64_t>(child->data.size())});
  }
  return 0;
}
int64_t SimulatedDisk::rename(const std::string& from, const std::string& to) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  std::string from_name, to_name;
  NodePtr from_folder = s_->parent(from, from_name), to_folder = s_->parent(to, to_name);
  NodePtr node = s_->find(from), target = s_->find(to);
  if (!node || !from_folder || !to_folder) return -ENOENT;
  if (target && target->folder != node->folder) return target->folder ? -EISDIR : -ENOTDIR;
  if (target && target->folder && !target->entries.empty()) return -ENOTEMPTY;
  if (node == target) return 0;
  s_->change({{from_folder, from_name, nullptr}, {to_folder, to_name, node}});
  return 0;
}
int64_t SimulatedDisk::unlink(const std::string& path) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  std::string name;
  NodePtr folder = s_->parent(path, name), node = s_->find(path);
  if (!folder || !node) return -ENOENT;
  if (node->folder) return -EISDIR;
  s_->used -= static_cast<int64_t>(node->data.size());
  s_->change({{folder, name, nullptr}});
  return 0;
}
int64_t SimulatedDisk::remove_folder(const std::string& path) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  std::string name;
  NodePtr folder = s_->parent(path, name), node = s_->find(path);
  if (!folder || !node) return -ENOENT;
  if (!node->folder) return -ENOTDIR;
  if (!node->entries.empty()) return -ENOTEMPTY;
  s_->change({{folder, name, nullptr}});
  return 0;
}
int64_t SimulatedDisk::make_folder(const std::string& path) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  std::string name;
  if (s_->find(path)) return -EEXIST;
  NodePtr folder = s_->parent(path, name);
  if (!folder) return -ENOENT;
  NodePtr node = std::make_shared<Node>();
  node->folder = true;
  s_->change({{folder, name, node}});
  return 0;
}
int64_t SimulatedDisk::sync_folder(const std::string& path) {
  std::lock_guard lock(s_->mutex);
  if (int64_t fault = s_->step()) return fault;
  NodePtr folder = s_->find(path);
  if (!folder) return -ENOENT;
  std::vector<Change> rest;
  for (Change& c : s_->pending) {
    bool here = std::any_of(c.steps.begin(), c.steps.end(),
                            [&](const Change::Step& step) { return step.folder == folder; });
    if (here)
      c.make_durable();
    else
      rest.push_back(std::move(c));
  }
  s_->pending = std::move(rest);
  return 0;
}

}  // namespace hone
