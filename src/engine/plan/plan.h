// The exact memory plan of a run: every byte of every program placed before any is allocated.
//
// Each space has one arena. It holds the states that live as long as the run, then the states of
// the running program's phase and its transients. A state's new version takes the old one's place;
// views and in-place results take their operand's; the other values share memory by lifetime. The
// plan is an analysis: it changes nothing.
#pragma once

#include <map>
#include <span>

#include "engine/graph/op.h"

namespace hone {

inline constexpr int64_t kBufferAlignment = 64;      // bytes; a cache line and a vector
inline constexpr int64_t kArenaAlignment = 2 << 20;  // bytes; a huge page
// Direct I/O needs whole disk blocks on disk, and addresses in memory that a disk's controller can
// reach.
inline constexpr int64_t kDiskAlignment = 4096;
inline constexpr int64_t kStagingAlignment = 512;

// The time for which a state keeps its value: to the end of the run; from one program of an
// optimizer step to the next (gradients); from one program of generation to the next (the KV
// cache). A program that uses no state of a phase ends the phase, and its transients reuse that
// memory.
enum class StatePhase : uint8_t { run, step, generation };
StatePhase phase_of(Role r);

struct StateSlot {
  std::string name;
  Type type;
  Role role = Role::param;
  int64_t offset = 0;  // from the start of the arena of its home
  Space home = Space::device;
  ShardSpec shard = {};
  const std::string& tensor() const { return shard.whole() ? name : shard.tensor; }
};

struct ProgramPlan {
  std::vector<int64_t> offset;            // by ValueId, from the start of the arena of its space
  std::vector<int64_t> workspace_offset;  // by node; the kernel's scratch, in its workspace_space
  StatePhase phase = StatePhase::run;     // of its states that are not of the run
  PerSpace<int64_t> phase_bytes;          // all states of that phase; 0: none
  PerSpace<int64_t> transient_bytes;      // size of the transient region this program needs
  int64_t held_bytes(Space s) const { return phase_bytes[s] + transient_bytes[s]; }
  int64_t traffic_bytes = 0;  // that its collectives send from this rank to others
  // On the device:
  int64_t live_bytes = 0;       // lower bound: the most that lives at one node
  int64_t kept_bytes = 0;       // of live_bytes at that node: activations kept for backward
  int64_t gradient_bytes = 0;   // of live_bytes at that node: gradients that wait for the update
  int64_t staging_bytes = 0;    // of live_bytes at that node: what copies read and write
  int64_t workspace_bytes = 0;  // of live_bytes at that node: its kernel's scratch
  size_t peak_node = 0;
  double fragmentation() const {
    const int64_t bytes = transient_bytes[Space::device];
    return live_bytes ? static_cast<double>(bytes) / static_cast<double>(live_bytes) - 1 : 0;
  }
};

struct RunPlan {
  std::vector<StateSlot> states;      // in order of their first program
  PerSpace<int64_t> state_bytes;      // of those that live as long as the run
  PerSpace<int64_t> program_bytes;    // the largest held_bytes() of a program
  std::vector<ProgramPlan> programs;  // as given
  PerSpace<int64_t> alignment;        // of every place and size in the arena of a space
  int64_t io_bytes = 0;  // host memory for the inputs and outputs, where the device has its own
  int64_t used_bytes(Space s = Space::device) const { return state_bytes[s] + program_bytes[s]; }
  // used_bytes() in whole huge pages; of the device at least one, of others 0 where nothing is
  // there
  int64_t arena_bytes(Space s = Space::device) const;
  std::map<std::string, int64_t> by_purpose()
      const;  // "params", "gradients", "moments", ... of the device; sums to arena_bytes
};

// A program and the scratch bytes of the kernel chosen for each of its nodes.
struct PlanInput {
  const Program* program = nullptr;
  std::vector<int64_t> workspace_bytes;
};

// The space of the kernel's scratch.
Space workspace_space(const Node& n);

// The part of io_bytes that an input or output of this type takes.
int64_t io_bytes_of(const Type& type);

// States of one name are one tensor and must agree in type and home.
Result<RunPlan> plan_run(std::span<const PlanInput> programs);

}  // namespace hone
