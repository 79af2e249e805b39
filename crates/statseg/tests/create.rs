//! Creating: every way it fails, what it replaces, and that it leaves nothing behind.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod support;

use statseg::{Config, CreateError, Foreign, attach, create};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use support::{Dir, Running};

#[test]
fn child() {
    let Some((_, directory)) = support::role() else {
        return;
    };
    let segment = create(&support::config(&directory)).unwrap();
    println!("created {}", segment.bytes());
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

fn error(config: &Config) -> CreateError {
    let error = create(config).expect_err("created");
    let message = error.to_string();
    assert!(
        !message.ends_with('.') && !message.contains("os error"),
        "{message}"
    );
    assert!(message.starts_with(char::is_lowercase), "{message}");
    for text in error.detail().into_iter().chain(error.hint()) {
        assert!(
            text.ends_with('.') && text.starts_with(char::is_uppercase),
            "{text}"
        );
    }
    error
}

fn foreign(dir: &Dir) -> Foreign {
    match error(&dir.config()) {
        CreateError::Foreign { why, .. } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_the_owner_may_read_it() {
    let dir = Dir::new();
    let segment = dir.create();
    let file = std::fs::metadata(segment.path()).unwrap();
    assert_eq!(file.permissions().mode() & 0o7777, 0o600);
    // Every page is there: a full file system later is no SIGBUS.
    assert!(file.blocks() * 512 >= segment.bytes());
    assert_eq!(file.len(), segment.bytes());
}

#[test]
fn the_name_must_be_one() {
    let dir = Dir::new();
    for name in ["", ".", "..", "a/b", "/etc/passwd", "a\0b"] {
        let config = Config {
            file_name: name.to_owned(),
            ..dir.config()
        };
        assert_eq!(error(&config), CreateError::FileName(name.to_owned()));
    }
}

#[test]
fn the_directory_must_be_in_memory() {
    let dir = Dir::new();
    let missing = Config {
        directory: dir.path().join("missing"),
        ..dir.config()
    };
    let found = error(&missing);
    assert!(matches!(found, CreateError::Directory { .. }), "{found:?}");
    assert!(
        found.to_string().ends_with(": No such file or directory"),
        "{found}"
    );
    std::fs::write(dir.path().join("file"), "").unwrap();
    let file = Config {
        directory: dir.path().join("file"),
        ..dir.config()
    };
    assert!(matches!(error(&file), CreateError::Directory { .. }));
    // A file system that is certainly not tmpfs, and on which nothing can be created.
    let proc = Config {
        directory: "/proc".into(),
        require_tmpfs: true,
        ..dir.config()
    };
    let found = error(&proc);
    assert!(matches!(found, CreateError::NotTmpfs { .. }), "{found:?}");
    assert!(
        found
            .hint()
            .unwrap()
            .contains("ckptflush.segment_directory")
    );
    if dir.path().starts_with("/dev/shm") {
        create(&Config {
            require_tmpfs: true,
            ..dir.config()
        })
        .unwrap();
    }
}

#[test]
fn a_stale_segment_of_ours_is_replaced() {
    let dir = Dir::new();
    let old = dir.create();
    let old_inode = std::fs::metadata(dir.file()).unwrap().ino();
    drop(old);
    let new = create(&Config {
        generation: 4,
        ..dir.config()
    })
    .unwrap();
    assert_ne!(std::fs::metadata(dir.file()).unwrap().ino(), old_inode);
    assert_eq!(attach(&dir.file()).unwrap().view().generation(), 4);
    assert_eq!(dir.names(), ["segment"]);
    drop(new);

    // Remains of an attempt that died early; an older and a newer layout.
    let image = std::fs::read(dir.file()).unwrap();
    let with = |word: usize, value: u64| {
        let mut image = image.clone();
        image[word * 8..word * 8 + 8].copy_from_slice(&value.to_ne_bytes());
        image
    };
    let mut half_built = statseg::MAGIC.to_vec();
    half_built.resize(8192, 0);
    let remains = [
        Vec::new(),
        statseg::MAGIC.to_vec(),
        half_built,
        with(1, 0),
        with(1, 7),
    ];
    for remains in remains {
        std::fs::write(dir.file(), remains).unwrap();
        dir.create();
    }
}

#[test]
fn what_is_not_ours_stays() {
    let dir = Dir::new();
    drop(
        create(&Config {
            system_identifier: 1,
            ..dir.config()
        })
        .unwrap(),
    );
    assert_eq!(foreign(&dir), Foreign::OtherServer(1));

    std::fs::write(dir.file(), "precious").unwrap();
    assert_eq!(foreign(&dir), Foreign::NotASegment);
    assert_eq!(std::fs::read_to_string(dir.file()).unwrap(), "precious");

    let target = dir.path().join("target");
    std::fs::rename(dir.file(), &target).unwrap();
    symlink(&target, dir.file()).unwrap();
    assert_eq!(foreign(&dir), Foreign::Symlink);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");

    std::fs::remove_file(dir.file()).unwrap();
    symlink(dir.path().join("nowhere"), dir.file()).unwrap();
    assert_eq!(foreign(&dir), Foreign::Symlink);
    assert!(!dir.path().join("nowhere").exists());

    std::fs::remove_file(dir.file()).unwrap();
    std::fs::create_dir(dir.file()).unwrap();
    assert_eq!(foreign(&dir), Foreign::NotRegular);
}

#[test]
fn a_segment_of_another_user_stays() {
    let dir = Dir::new();
    drop(dir.create());
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can give a file away");
        return;
    }
    std::os::unix::fs::chown(dir.file(), Some(65534), None).unwrap();
    assert_eq!(foreign(&dir), Foreign::Owner(65534));
    assert_eq!(dir.names(), ["segment"]);
}

#[test]
fn a_segment_in_use_stays_until_its_server_is_dead() {
    let dir = Dir::new();
    let mut server = Running::start("live", dir.path());
    server.wait_for("created ");
    let found = error(&dir.config());
    let CreateError::InUse { pid, .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(pid, u64::from(server.0.id()));
    assert!(found.detail().unwrap().contains(&pid.to_string()));
    server.kill();
    dir.create();
}

#[test]
fn after_a_crash_the_same_process_makes_a_new_one() {
    let dir = Dir::new();
    let old = dir.create();
    let new = create(&Config {
        generation: 4,
        ..dir.config()
    })
    .unwrap();
    assert_eq!((old.generation(), new.generation()), (3, 4));
    // The old one does not remove the new one's file.
    old.unlink().unwrap();
    assert_eq!(attach(&dir.file()).unwrap().view().generation(), 4);
    new.unlink().unwrap();
    new.unlink().unwrap();
    assert!(dir.names().is_empty());
}

/// A viewer that asks whether the server is alive holds the lock for a moment.
#[test]
fn a_viewer_does_not_keep_a_server_from_starting() {
    let dir = Dir::new();
    drop(dir.create());
    let file = std::fs::File::open(dir.file()).unwrap();
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockShared).unwrap();
    let viewer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        drop(file);
    });
    dir.create();
    viewer.join().unwrap();
}

/// A tmpfs of its own, unmounted at the end.
struct Mount<'a>(&'a Path);

impl<'a> Mount<'a> {
    fn new(path: &'a Path, options: &str) -> Option<Self> {
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(path)
            .output();
        match mount {
            Ok(done) if done.status.success() => Some(Self(path)),
            Ok(done) => {
                eprintln!(
                    "skipped: mount: {}",
                    String::from_utf8_lossy(&done.stderr).trim()
                );
                None
            }
            Err(e) => {
                eprintln!("skipped: mount: {e}");
                None
            }
        }
    }
}

impl Drop for Mount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_file_system_is_an_error_and_leaves_nothing() {
    let dir = Dir::new();
    let small = dir.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let Some(_mount) = Mount::new(&small, "size=64k") else {
        return;
    };
    let config = Config {
        directory: small.clone(),
        require_tmpfs: true,
        ..dir.config()
    };
    let found = error(&config);
    let CreateError::NoSpace { bytes, .. } = found else {
        panic!("{found:?}")
    };
    assert_eq!(bytes, statseg::required_bytes(&config));
    assert!(found.detail().unwrap().contains(&bytes.to_string()));
    assert!(
        found.to_string().ends_with("No space left on device"),
        "{found}"
    );
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 0);
    // Not one page is left for the magic either.
    std::fs::write(small.join("full"), vec![0; 64 << 10]).unwrap();
    assert!(matches!(error(&config), CreateError::NoSpace { .. }));
    assert_eq!(std::fs::read_dir(&small).unwrap().count(), 1);
}

#[test]
fn the_size_follows_the_configuration() {
    let dir = Dir::new();
    let base = statseg::required_bytes(&dir.config());
    assert!(base.is_multiple_of(4096));
    let entry = <statseg::History as statseg::RecordType>::WORDS.next_multiple_of(8) as u64 * 8;
    let more = Config {
        history: dir.config().history + 1000,
        ..dir.config()
    };
    assert!(statseg::required_bytes(&more).abs_diff(base + 1000 * entry) < 4096);
    // Not even zero entries make a segment without a ring or a table.
    let none = Config {
        history: 0,
        files: 0,
        ..dir.config()
    };
    let segment = create(&none).unwrap();
    assert_eq!(segment.history().capacity(), 1);
    assert_eq!(segment.files_synced().capacity(), 8);
}
