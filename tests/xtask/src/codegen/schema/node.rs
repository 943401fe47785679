//! Shapes as the generators see them; equal shapes are one.

/// A shape in an [`Arena`].
pub type Id = u16;

/// What a value may look like. Counts and lengths are inclusive; `None` is no bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// Anything.
    Any,
    /// `null`.
    Null,
    /// A boolean.
    Boolean,
    /// One text.
    ConstText(String),
    /// One boolean.
    ConstBool(bool),
    /// One of some texts.
    Enum(Vec<String>),
    /// A whole number.
    Integer { min: Option<i32>, max: Option<i32> },
    /// A text, counted in code points.
    Text { min: u16, max: Option<u16> },
    /// A text without invisible characters and without white space at its edges.
    Identifier { min: u16, max: u16 },
    /// `prefix`, a letter or digit, then `min` to `max` of `[A-Za-z0-9._:-]`.
    Prefixed { prefix: String, min: u16, max: u16 },
    /// `prefix`, then one or more of `[a-z0-9_]`.
    Code { prefix: String },
    /// `sha256:` and 64 lower-case hex digits.
    Digest,
    /// Canonical base64url without padding.
    Base64url { min: u16, max: u16 },
    /// An RFC 3339 date-time.
    DateTime,
    /// A closed object: its members in order, and how many it has at least.
    Object { members: Vec<Member>, min: u16 },
    /// An object of any members.
    Open { min: u16, max: Option<u16> },
    /// An array.
    Array { item: Id, min: u16, max: Option<u16>, unique: bool },
    /// An object whose member `tag` says which case it is.
    Tagged { tag: String, cases: Vec<(String, Id)> },
    /// `with` where the object has the member `name`, else `without`.
    ByMember { name: String, with: Id, without: Id },
    /// Alternatives of different JSON types.
    ByType(Vec<Id>),
}

/// A member of a closed object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// What its value looks like.
    pub shape: Id,
    /// Whether it must be there.
    pub required: bool,
}

/// All shapes.
#[derive(Default)]
pub struct Arena(Vec<Node>);

impl Arena {
    /// The id of `node`, which is added if there is none like it.
    pub fn id(&mut self, node: Node) -> Id {
        let index = self.0.iter().position(|known| *known == node).unwrap_or_else(|| {
            self.0.push(node);
            self.0.len() - 1
        });
        Id::try_from(index).expect("fewer than 65536 shapes")
    }

    /// The shape `id`.
    pub fn get(&self, id: Id) -> &Node {
        &self.0[usize::from(id)]
    }

    /// All shapes, in the order of their ids.
    pub fn all(&self) -> &[Node] {
        &self.0
    }
}
