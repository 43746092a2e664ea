// Shows the steps of a run on standard error: on a terminal one line a step, redrawn in place;
// plain lines elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace hone {

class StepDisplay {
 public:
  StepDisplay(std::vector<std::string> names, Clock& clock = system_clock(),
              int force_terminal = -1);
  ~StepDisplay() { finish(); }
  StepDisplay(const StepDisplay&) = delete;
  StepDisplay& operator=(const StepDisplay&) = delete;

  // Shows a change of a step: "running", "done", "failed", "skipped", with details.
  void set(const std::string& step, const std::string& status, const std::string& detail);
  // Shows the last output of a running step; plain lines do so every 30 seconds.
  void tell(const std::string& step, const std::string& line);
  void redraw();  // a few times a second
  void finish();

 private:
  struct Row {
    std::string status = "waiting", detail = {};
    double began = 0, said = 0;
  };
  std::string line(const std::string& name, const Row& row) const;
  std::vector<std::string> names_;
  std::map<std::string, Row> rows_;
  Clock& clock_;
  bool terminal_, finished_ = false;
  std::string drawn_;  // current lines of the terminal
};

// The last line of a text as a terminal shows it: after "\r", and without escapes.
std::string last_line_of(std::string_view text);

}  // namespace hone
