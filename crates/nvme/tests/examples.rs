//! Runs the examples to their ends; each checks the data that it reads.

#[path = "../examples/adaptive.rs"]
mod adaptive;
#[path = "../examples/change_completion.rs"]
mod change_completion;
#[path = "../examples/depth_32.rs"]
mod depth_32;
#[path = "../examples/epoll.rs"]
mod epoll;
#[path = "../examples/hello.rs"]
mod hello;
#[path = "../examples/own_memory.rs"]
mod own_memory;

#[test]
fn hello() {
    hello::main().unwrap();
}

#[test]
fn depth_32() {
    depth_32::main().unwrap();
}

#[test]
fn change_completion() {
    change_completion::main().unwrap();
}

#[test]
fn epoll() {
    epoll::main().unwrap();
}

#[test]
fn own_memory() {
    own_memory::main().unwrap();
}

#[test]
fn adaptive() {
    adaptive::main().unwrap();
}
