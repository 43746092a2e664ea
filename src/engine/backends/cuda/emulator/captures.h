// The fake driver's CUDA graphs: the work of streams during a capture, and the graphs made from it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/backends/cuda/emulator/queues.h"

namespace hone::cuda::fake {

// An entry of a captured stream: work, a mark (the record of an event), or a wait for a mark. Streams of a capture
// are called lanes and have numbers from 0.
struct Noted {
  enum class What { work, mark, wait };
  What what = What::work;
  size_t lane = 0;
  size_t mark = 0;  // number of the mark that is made, or waited for
  std::string kernel = {};
  std::vector<Access> accesses = {};
  std::function<void()> work = {};
};

// A capture that is under way.
struct Capture {
  Stream* origin = nullptr;         // the stream of cuStreamBeginCapture
  std::map<Stream*, size_t> lanes;  // the lane of each captured stream; the origin's is 0
  std::vector<Noted> notes;         // in the order in which they were added
  // Clocks that count the entries of each lane. clocks[l]: the entries that happen before the next work of lane l.
  // marks[m]: the entries that happen before mark m.
  std::vector<Clock> clocks, marks;

  size_t lane_of(Stream& s);  // adds the stream to the capture if it is not part of it
  void add(Stream& s, Noted note);
  size_t add_mark(Stream& s);  // returns the mark's number
  void add_wait(Stream& s, size_t mark);
  // Whether the origin's next work would happen after all captured work.
  bool is_joined() const;
};

struct Graph {
  int64_t number = 0;  // 1 for the first graph
  bool destroyed = false;
  size_t lanes = 0;  // number of lanes
  std::vector<Noted> notes;
  std::string text() const { return "graph " + std::to_string(number); }
};

// An executable graph, made from a Graph by cuGraphInstantiate.
struct GraphExec {
  int64_t number = 0;
  bool destroyed = false;
  std::vector<Stream*> lanes;  // streams of its own, one for each lane
  std::vector<Noted> notes;
  std::string text() const { return "executable graph " + std::to_string(number); }
};

}  // namespace hone::cuda::fake
