// The exact memory plan of a run: the place of each value of each program, before memory is allocated.
//
// Each space (device, host, disk) has one arena, a contiguous range of bytes. It starts with the states that live as
// long as the run. After them come the states of the running program's StatePhase, then the program's transients (all
// other values and scratch). A state's new version is at the place of the old version. Views and in-place results are
// at the place of their operand. Other values share memory if they are alive at different times. The plan changes no
// program.
#pragma once

#include <map>
#include <span>

#include "engine/graph/op.h"

namespace hone {

inline constexpr int64_t kBufferAlignment = 64;      // bytes; a cache line, and a vector register
inline constexpr int64_t kArenaAlignment = 2 << 20;  // bytes; a huge page
// Bytes, for runs that keep values on disk. The offset and the size of each place on disk are multiples of
// kDiskAlignment (a disk block). The offset and the size of each place in memory are multiples of kStagingAlignment, so
// that a disk's controller can copy from and to the place.
inline constexpr int64_t kDiskAlignment = 4096;
inline constexpr int64_t kStagingAlignment = 512;

// The time for which a state keeps its value:
//   run         to the end of the run
//   step        between the programs of one optimizer step (gradients)
//   generation  between the programs of one generation (the KV cache)
// A program that has no state of a phase may overwrite the states of that phase with its transients.
enum class StatePhase : uint8_t { run, step, generation };
StatePhase phase_of(Role r);

struct StateSlot {
  std::string name;
  Type type;
  Role role = Role::param;
  int64_t offset = 0;  // bytes from the start of the arena of `home`
  Space home = Space::device;
  ShardSpec shard = {};
  // The name of the tensor to which the state's rows belong.
  const std::string& tensor() const { return shard.whole() ? name : shard.tensor; }
};

struct ProgramPlan {
  std::vector<int64_t> offset;  // by ValueId: bytes from the start of its space's arena; -1: none
  // By node: the place of the kernel's scratch, in bytes from the start of the arena of workspace_space(node).
  std::vector<int64_t> workspace_offset;
  StatePhase phase = StatePhase::run;  // the phase of its states that do not last for the run
  // Bytes of all states of that phase, of all programs; 0: none.
  PerSpace<int64_t> phase_bytes;
  PerSpace<int64_t> transient_bytes;  // bytes of its transients
  int64_t held_bytes(Space s) const { return phase_bytes[s] + transient_bytes[s]; }
  int64_t traffic_bytes = 0;  // bytes that its collectives send from this rank to others
  // Transients on the device:
  // The most bytes alive at one node: a lower bound of transient_bytes.
  int64_t live_bytes = 0;
  int64_t kept_bytes = 0;       // part of live_bytes: activations that the backward pass needs
  int64_t gradient_bytes = 0;   // part of live_bytes: gradients that wait for the update
  int64_t staging_bytes = 0;    // part of live_bytes: values that copies and gathers read or write
  int64_t workspace_bytes = 0;  // part of live_bytes: the scratch of the node's kernel
  size_t peak_node = 0;         // index of the node at which live_bytes are alive
  // How much larger than live_bytes the transients are, as a fraction.
  double fragmentation() const {
    const int64_t bytes = transient_bytes[Space::device];
    return live_bytes ? static_cast<double>(bytes) / static_cast<double>(live_bytes) - 1 : 0;
  }
};

struct RunPlan {
  std::vector<StateSlot> states;      // the states of all programs, in order of their first program
  PerSpace<int64_t> state_bytes;      // bytes of the states that live as long as the run
  PerSpace<int64_t> program_bytes;    // the largest held_bytes() of a program
  std::vector<ProgramPlan> programs;  // in the order of plan_run()'s input
  PerSpace<int64_t> alignment;        // of each place and size in the space's arena, in bytes
  // Bytes of host memory for inputs and outputs: the most that one program needs. Used if the device has its own
  // memory.
  int64_t io_bytes = 0;
  int64_t used_bytes(Space s = Space::device) const { return state_bytes[s] + program_bytes[s]; }
  // used_bytes() rounded up to huge pages. The device has at least one page; the other spaces may have 0.
  int64_t arena_bytes(Space s = Space::device) const;
  // The device's arena by purpose: bytes of "params", "gradients", "moments", "activations", ...; the sum is
  // arena_bytes().
  std::map<std::string, int64_t> by_purpose() const;
};

// A program, and for each of its nodes what the chosen kernel needs. Lists may be shorter than the list of nodes: 0 and
// false are then meant.
struct PlanInput {
  const Program* program = nullptr;
  std::vector<int64_t> workspace_bytes = {};  // bytes of scratch
  // Whether the kernels that read the node's results compute them: results that have a place of their own then take no
  // bytes, and operands stay alive for the readers.
  std::vector<bool> fused = {};
};

// The space that has the scratch of the node's kernel.
Space workspace_space(const Node& n);

// The part of io_bytes that an input or output of this type needs.
int64_t io_bytes_of(const Type& type);

// Plans the programs of a run. States of equal names in several programs are one state. H1301: two programs disagree
// about the type, the rows (ShardSpec) or the home of a state.
Result<RunPlan> plan_run(std::span<const PlanInput> programs);

}  // namespace hone
