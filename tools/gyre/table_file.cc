#include "tools/gyre/table_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace gyre::tools {
namespace {

// A new file beside another one, gone again unless it takes its place.
class Beside {
 public:
  static Result<Beside> make(const std::string& path) {
    std::string name = path + ".XXXXXX";
    Fd file(::mkostemp(name.data(), O_CLOEXEC));
    if (!file) return system_error("gyre tune: a file beside " + path, errno);
    return Beside(std::move(name), std::move(file));
  }
  Beside(Beside&& other) noexcept
      : name_(std::exchange(other.name_, {})), file_(std::move(other.file_)) {}
  Beside& operator=(Beside&&) = delete;
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }

  Result<void> write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_.get(), text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error("gyre tune: " + name_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }
  // With that file's rights, if it is there.
  Result<void> replace(const std::string& path) {
    struct stat info {};
    const ::mode_t mask = ::umask(0);
    ::umask(mask);
    const bool there = ::stat(path.c_str(), &info) == 0;
    ::fchmod(file_.get(), there ? info.st_mode & 0777 : 0666 & ~mask);
    if (::fsync(file_.get()) != 0 || ::rename(name_.c_str(), path.c_str()) != 0) {
      return system_error("gyre tune: " + path, errno);
    }
    name_.clear();
    return {};
  }

 private:
  Beside(std::string name, Fd file) : name_(std::move(name)), file_(std::move(file)) {}

  std::string name_;
  Fd file_;
};

// Where a link leads, so that the link stays.
std::string followed(const std::string& path) {
  char* const target = ::realpath(path.c_str(), nullptr);
  std::string name = target == nullptr ? path : target;
  ::free(target);
  return name;
}

}  // namespace

Result<TableFile> TableFile::open(const std::string& path) {
  if (path.empty()) {
    return Error{Status::invalid_argument, "gyre tune: the table needs a name (-o)"};
  }
  TableFile file;
  file.path_ = followed(path);
  struct stat info {};
  if (::stat(file.path_.c_str(), &info) == 0) {
    auto old = TuningTable::load(file.path_);
    if (!old) {
      return Error{Status::invalid_argument,
                   fmt::format("gyre tune: {} (-o names another file)", old.error().text)};
    }
    file.old_ = *std::move(old);
  } else if (errno != ENOENT) {
    return system_error("gyre tune: " + path, errno);
  }
  GYRE_TRY(Beside::make(file.path_));
  return file;
}

Result<void> TableFile::write(const std::vector<TuningRow>& rows) {
  TuningTable table;
  for (const TuningRow& row : old_.rows()) {
    const bool again = std::any_of(rows.begin(), rows.end(), [&](const TuningRow& one) {
      return one.kind == row.kind && one.place == row.place;
    });
    if (!again) table.add(row);
  }
  for (const TuningRow& row : rows) table.add(row);
  GYRE_TRY_ASSIGN(Beside fresh, Beside::make(path_));
  GYRE_TRY(fresh.write(table.text()));
  return fresh.replace(path_);
}

}  // namespace gyre::tools
