#include "engine/backends/cuda/emulator/captures.h"

namespace hone::cuda::fake {

size_t Capture::lane_of(Stream& s) {
  const auto [at, is_new] = lanes.emplace(&s, lanes.size());
  if (is_new) clocks.emplace_back();
  s.capture = this;
  return at->second;
}

void Capture::add(Stream& s, Noted note) {
  note.lane = lane_of(s);
  clocks[note.lane].step(note.lane);
  notes.push_back(std::move(note));
}

size_t Capture::add_mark(Stream& s) {
  const size_t lane = lane_of(s);
  marks.push_back(clocks[lane]);
  notes.push_back({.what = Noted::What::mark, .lane = lane, .mark = marks.size() - 1});
  return marks.size() - 1;
}

void Capture::add_wait(Stream& s, size_t mark) {
  const size_t lane = lane_of(s);
  clocks[lane].join(marks[mark]);
  notes.push_back({.what = Noted::What::wait, .lane = lane, .mark = mark});
}

bool Capture::is_joined() const {
  for (size_t lane = 0; lane < clocks.size(); ++lane)
    if (clocks[0].of(lane) < clocks[lane].of(lane)) return false;
  return true;
}

}  // namespace hone::cuda::fake
