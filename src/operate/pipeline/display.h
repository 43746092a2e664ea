// Shows the progress of a run's steps on standard error. On a terminal the lines of ended steps stay, and the lines of
// the other steps are redrawn below them; all are wrapped at the terminal's width. Elsewhere each change is a plain log
// line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace hone {

class StepDisplay {
 public:
  // `names` are the steps, in order. `force_terminal` is for tests. 1: writes as on a terminal; 0: writes as elsewhere;
  // -1: detects whether standard error is a terminal.
  StepDisplay(std::vector<std::string> names, Clock& clock = system_clock(),
              int force_terminal = -1);
  ~StepDisplay() { finish(); }
  StepDisplay(const StepDisplay&) = delete;
  StepDisplay& operator=(const StepDisplay&) = delete;

  // Shows the new status of a step: "running", "done", "failed", "skipped", "stopped", or "waiting" if the step is
  // repeated later. `detail` is on the same line, `results` are lines below it.
  void set(const std::string& step, const std::string& status, const std::string& detail,
           const std::vector<std::string>& results = {});
  // Takes a line of a running step's output. If says_what_is_done(), shows it after the step's name; without a
  // terminal at most every 30 seconds.
  void tell(const std::string& step, const std::string& output);
  void redraw();  // updates the times of running steps on a terminal; call it a few times a second
  void finish();  // removes the redrawn lines; nothing is shown afterwards

 private:
  struct Row {
    std::string status = "waiting", detail = {};
    double began = 0, said = 0;  // times of the start and of the last plain line
    bool stays = false;          // its lines are above the redrawn lines
  };
  std::string live_text(size_t columns) const;
  void draw(const std::string& lasting, const std::string& live, size_t columns);

  std::vector<std::string> names_;
  std::map<std::string, Row> rows_;
  Clock& clock_;
  bool terminal_, finished_ = false;
  std::string drawn_;      // the redrawn lines
  size_t drawn_rows_ = 0;  // how many rows of the terminal they take
};

// Breaks `begin` and `text` between words into lines of at most `columns` characters. Lines after the first begin with
// `indent` blanks. A word that is longer than a line has a line of its own. Each line ends with a line break.
std::string wrapped_text(std::string_view begin, std::string_view text, size_t indent,
                         size_t columns);

// hone's log lines begin with a label in the first columns. Returns a line of a step's output without its label if the
// label is the step's name.
std::string without_label(const std::string& step, const std::string& line);

// Whether a line of a step's output tells what the step does now. False for lines with another label, which state a
// fact such as the planned memory, and for rows and titles of tables.
bool says_what_is_done(const std::string& step, const std::string& line);

// The last line that is not blank in a text, as a terminal shows it: the part after the last "\r", without escape
// sequences.
std::string last_line_of(std::string_view text);

}  // namespace hone
