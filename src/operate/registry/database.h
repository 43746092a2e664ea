// The SQL layer of the registry: statements and transactions, the same for every kind of database.
//
//   auto db = HONE_TRY(Database::open("sqlite:///data/registry.db"));
//   HONE_TRY(db->write([&]() -> Status {
//     HONE_TRY(db->run("INSERT INTO models(name, created) VALUES(?, ?)", {"news", now}));
//     return Ok{};
//   }));
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/core/error.h"

namespace hone {

using SqlValue = std::variant<std::monostate, int64_t, double, std::string>;
using SqlValues = std::vector<SqlValue>;
std::string sql_text(const SqlValue& value);  // "" for NULL
int64_t sql_number(const SqlValue& value);    // 0 for anything but a whole number

// One connection. Several threads may use it: one transaction at a time, the others wait.
class Database {
 public:
  // `address`: sqlite:///relative.db, sqlite:////absolute.db, a path, or
  // postgresql://user@host/name. Creates a missing file and its folder. Errors: H3131, H3132,
  // H3133.
  static Result<std::unique_ptr<Database>> open(const std::string& address);
  virtual ~Database() = default;

  // Runs one statement, with a value for each '?'. Returns the rows of a SELECT. Errors: H3132 if
  // another program keeps the lock for longer than the timeout, H3133 for everything else.
  Result<std::vector<SqlValues>> run(std::string_view sql, const SqlValues& values = {});

  // Runs `body` in one transaction: all or nothing becomes visible. write() holds the only write
  // lock from its beginning, read() sees one state. A transaction inside another is part of the
  // outer one. Errors: those of `body` (nothing changes) and of run().
  Status write(const std::function<Status()>& body) { return transaction(body, true); }
  Status read(const std::function<Status()>& body) { return transaction(body, false); }

  virtual Result<bool> has_table(const std::string& name) = 0;

  const std::string& shown() const { return shown_; }  // the address without a password

 protected:
  explicit Database(std::string shown) : shown_(std::move(shown)) {}
  virtual Result<std::vector<SqlValues>> execute(std::string_view sql, const SqlValues& values) = 0;
  virtual Status begin(bool writes) = 0;

 private:
  Status transaction(const std::function<Status()>& body, bool writes);
  std::string shown_;
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

// The kinds of databases, by the prefixes of their addresses. Errors as of Database::open.
Result<std::unique_ptr<Database>> open_sqlite(const std::string& path);
Result<std::unique_ptr<Database>> open_postgres(const std::string& address);

// Seconds that a statement waits for another program's lock: HONE_REGISTRY_TIMEOUT, default 30.
double registry_timeout_seconds();

}  // namespace hone
