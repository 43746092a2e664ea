// Work of streams during a capture, and graphs of it, which run on streams of their own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/backends/cuda/emulator/queues.h"

namespace hone::cuda::fake {

// An entry of a lane, which is a stream during the capture.
struct Noted {
  enum class What { work, mark, wait };
  What what = What::work;
  size_t lane = 0;
  size_t mark = 0;  // that is made or waited for
  std::string kernel = {};
  std::vector<Access> accesses = {};
  std::function<void()> work = {};
};

struct Capture {
  Stream* origin = nullptr;
  std::map<Stream*, size_t> lanes;  // the origin's is 0
  std::vector<Noted> notes;
  // The part of each lane that precedes the next work of a lane, or a mark.
  std::vector<Clock> clocks, marks;

  size_t lane_of(Stream& s);  // which takes part from now on
  void add(Stream& s, Noted note);
  size_t add_mark(Stream& s);
  void add_wait(Stream& s, size_t mark);
  // Whether all that was noted happens before what the origin is given next.
  bool is_joined() const;
};

struct Graph {
  int64_t number = 0;
  bool destroyed = false;
  size_t lanes = 0;
  std::vector<Noted> notes;
  std::string text() const { return "graph " + std::to_string(number); }
};

struct GraphExec {
  int64_t number = 0;
  bool destroyed = false;
  std::vector<Stream*> lanes;
  std::vector<Noted> notes;
  std::string text() const { return "executable graph " + std::to_string(number); }
};

}  // namespace hone::cuda::fake
